/**
 * `kopf server --open --data-dir` as a child process. Tests of persistence start a new process for every restart of the server,
 * since module state would survive a restart in the same process and hide that it is not restored from disk.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Api } from './api.ts'

export class ServerProcess {
  readonly api: Api
  /** Sends the signal and resolves with the exit code when the process has exited. */
  readonly end: (signal?: NodeJS.Signals) => Promise<number | null>

  private constructor(api: Api, end: ServerProcess['end']) {
    this.api = api
    this.end = end
  }

  /** Resolves when the server is ready; rejects with the output of the process if it exits. */
  static async start(command: string, dataDir: string, args: readonly string[] = []): Promise<ServerProcess> {
    const all = [command, 'server', '--open', '--data-dir', dataDir, ...args]
    const child = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'pipe'] })
    const exited = once(child, 'exit')
    let output = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
    const url = await new Promise<string | undefined>((resolve) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text
        const found = /ready at (\S+)/.exec(output)?.[1]
        if (found !== undefined) resolve(found)
      })
      void exited.then(() => resolve(undefined))
    })
    if (url === undefined) throw new Error(`The server process exited with ${child.exitCode}: ${output}`)
    const api = new Api({ url, credentials: {} })
    return new ServerProcess(api, async (signal = 'SIGTERM') => {
      api.close()
      child.kill(signal)
      await exited
      return child.exitCode
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }
}
