/** From the start of the process until it says that it is ready, and is. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Connection } from './connection.ts'
import { check, cpuMs } from './measure.ts'
import { startReal } from './targets.ts'

const program = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

export interface Start {
  readonly tookMs: number
  /** Of the server's processes, which says more than the time where others use the machine too. */
  readonly cpuMs: number
}

/** `kopf server`, compiled, as a user runs it. */
export async function measureCommand(): Promise<Start> {
  const began = performance.now()
  const child = spawn(process.execPath, [program, 'server'], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    let output = ''
    child.stdout.on('data', (bytes: Buffer) => (output += bytes))
    while (!output.includes('Ctrl-C')) {
      const ended = await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => 'exit')])
      check(ended !== 'exit', `the server ended with ${output}`)
    }
    const url = /ready at (\S+)/.exec(output)?.[1] ?? ''
    const kubeconfig = await readFile(/KUBECONFIG=(\S+)/.exec(output)?.[1] ?? '', 'utf8')
    const ca = /"certificate-authority-data": "([^"]+)"/.exec(kubeconfig)?.[1] ?? ''
    const connection = await Connection.open({ url, caPem: Buffer.from(ca, 'base64').toString() })
    const { status } = await connection.send({ path: '/readyz' })
    const tookMs = performance.now() - began
    check(status === 200, `the server is not ready: ${status}`)
    connection.close()
    return { tookMs, cpuMs: cpuMs([child.pid!]) }
  } finally {
    const gone = once(child, 'exit')
    child.kill()
    await gone
  }
}

/** With its certificates and files, which the embedded server makes as well; the binaries are built beforehand. */
export async function measureReal(): Promise<Start> {
  const began = performance.now()
  await using real = await startReal()
  return { tookMs: performance.now() - began, cpuMs: cpuMs(real.pids) }
}
