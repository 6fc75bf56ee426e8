/** Measures the start of a server: from the start of its process until `/readyz` succeeds. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Connection } from '../lib/connection.ts'
import { check, cpuMs } from '../lib/measure.ts'
import { startReal } from '../lib/targets.ts'

const program = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

export interface Start {
  readonly tookMs: number
  /** CPU of the server's processes, which depends less on other load of the machine than the time. */
  readonly cpuMs: number
}

/** Starts the built `kopf server`. */
export async function measureCommand(): Promise<Start> {
  const began = performance.now()
  const child = spawn(process.execPath, [program, 'server'], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    let output = ''
    child.stdout.on('data', (bytes: Buffer) => (output += bytes))
    while (!output.includes('Ctrl-C')) {
      const ended = await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => 'exit')])
      check(ended !== 'exit', `the server exited: ${output}`)
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
    const exited = once(child, 'exit')
    child.kill()
    await exited
  }
}

/** Starts the real control plane, including its certificates and files, which the embedded server creates too. */
export async function measureReal(): Promise<Start> {
  const began = performance.now()
  await using real = await startReal()
  return { tookMs: performance.now() - began, cpuMs: cpuMs(real.pids) }
}
