/** Starts the servers that are measured, embedded and real, each in its own processes. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startControlPlane } from '../../tools/envtest/control-plane.ts'
import type { Access } from './connection.ts'

export interface Target extends AsyncDisposable {
  readonly name: 'embedded' | 'real'
  readonly access: Access
  /** The processes whose CPU and memory count. */
  readonly pids: readonly number[]
  /** The heap after a garbage collection, in bytes; undefined for the real server. */
  heap(): Promise<number | undefined>
}

/** Starts a TypeScript file as a process. Only that file is compiled by tsx; it imports the built package from `dist/`. */
export function forkBench(file: URL, args: readonly string[] = [], nodeArgs: readonly string[] = []): ChildProcess {
  return fork(file, [...args], {
    execArgv: ['--import', 'tsx', '--expose-gc', ...nodeArgs],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

export async function nextMessage<T>(child: ChildProcess): Promise<T> {
  const exited = new AbortController()
  const onExit = (): void => exited.abort(new Error('A process of the benchmark exited before it sent its message'))
  child.once('exit', onExit)
  try {
    const [message] = (await once(child, 'message', { signal: exited.signal })) as [T]
    return message
  } finally {
    child.off('exit', onExit)
  }
}

/** The embedded server with a data directory, on the same disk as the real server. */
export async function startEmbeddedWithDataDir(): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'kopf-bench-'))
  const target = await startEmbedded([], [join(folder, 'data')])
  return {
    ...target,
    async [Symbol.asyncDispose]() {
      await target[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export async function startEmbedded(
  nodeArgs: readonly string[] = [],
  serverArgs: readonly string[] = [],
): Promise<Target> {
  const child = forkBench(new URL('serve-embedded.ts', import.meta.url), serverArgs, nodeArgs)
  const access = await nextMessage<Access>(child)
  return {
    name: 'embedded',
    access,
    pids: [child.pid!],
    async heap() {
      child.send('heap')
      return nextMessage<number>(child)
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

export async function startReal(): Promise<Target> {
  const plane = await startControlPlane({ fsync: true, controllers: false })
  return {
    name: 'real',
    access: { url: plane.url, caPem: plane.caPem, user: plane.admin },
    pids: [plane.pids.apiServer!, plane.pids.etcd!],
    heap: async () => undefined,
    [Symbol.asyncDispose]: () => plane.stop(),
  }
}
