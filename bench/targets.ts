/** The two servers, each in processes of its own, and how to reach them. Both are started and stopped by server.ts. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startControlPlane } from '../tools/envtest/control-plane.ts'
import type { Access } from './connection.ts'

export interface Target extends AsyncDisposable {
  readonly name: 'embedded' | 'real'
  readonly access: Access
  /** The processes whose CPU and memory count. */
  readonly pids: readonly number[]
  /** The heap after a collection of garbage, in bytes; undefined where there is none to ask for. */
  heap(): Promise<number | undefined>
}

/** A file of this folder as a process. Compiled code is measured: only the file itself is translated on the way. */
export function forkBench(file: string, args: readonly string[] = [], nodeArgs: readonly string[] = []): ChildProcess {
  return fork(new URL(file, import.meta.url), [...args], {
    execArgv: ['--import', 'tsx', '--expose-gc', ...nodeArgs],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

export async function nextMessage<T>(child: ChildProcess): Promise<T> {
  const gone = new AbortController()
  const leave = (): void => gone.abort(new Error('The process of a benchmark ended before its answer'))
  child.once('exit', leave)
  try {
    const [message] = (await once(child, 'message', { signal: gone.signal })) as [T]
    return message
  } finally {
    child.off('exit', leave)
  }
}

/** The embedded server that keeps what it holds, as the real one does, on the same disk. */
export async function startKept(): Promise<Target> {
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
  const child = forkBench('serve-embedded.ts', serverArgs, nodeArgs)
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
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
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
