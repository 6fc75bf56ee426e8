/** Handlers that worker threads run. `param` is often shared memory, the only thing that both sides can see at once. */
import { threadId } from 'node:worker_threads'
import type { WorkerArgs } from 'kopf'

type Args = WorkerArgs<'create', 'widgets'>

/** The indices of `param`. */
export const slots = { started: 0, released: 1, running: 2, most: 3, seen: 4 } as const

function shared({ param }: Pick<Args, 'param'>): Int32Array {
  return new Int32Array(param as SharedArrayBuffer)
}

/** Blocks its thread until it is released. */
export function block(args: Args): string {
  const cells = shared(args)
  Atomics.add(cells, slots.started, 1)
  Atomics.wait(cells, slots.released, 0)
  return 'released'
}

/** The thread of the call, and its number among all calls. */
export function number(args: Args): { thread: number; order: number } {
  return { thread: threadId, order: Atomics.add(shared(args), slots.seen, 1) }
}

/** Ends its thread after the call has returned. */
export function dieLater(): void {
  setImmediate(() => process.exit(4))
}

export function compute({ spec, name, patch, logger, labels }: Args): object {
  logger.info('begins', { size: spec['size'], label: labels['app'] })
  logger.debug('goes on')
  patch.status['phase'] = 'Ready'
  patch.metadata.annotations['example.com/by'] = name
  logger.warn('ends')
  return { doubled: spec['size'] * 2 }
}

/** Sees the aborted signal although the event loop of the thread is blocked. */
export function untilAborted({ signal, logger, ...args }: Args): void {
  Atomics.add(shared(args), slots.started, 1)
  while (!signal.aborted) Atomics.wait(shared(args), slots.released, 0, 1)
  logger.info(`told to end: ${(signal.reason as Error).message}`)
}

export function die({ retry }: Args): string {
  if (retry === 0) process.exit(3)
  return 'alive'
}

export async function rejectLater({ retry }: Args): Promise<string> {
  if (retry === 0) await new Promise(() => queueMicrotask(() => void Promise.reject(new RangeError('left alone'))))
  return 'alive'
}

/** Returns a summary of its arguments, and the names of the enumerable ones. */
export function look(args: Args): object {
  const { body, spec, status, meta, name, namespace, uid, labels, annotations, resource, reason, old, diff } = args
  return {
    same: body['spec'] === spec && body.metadata.labels === labels,
    frozen: [body, spec, status, meta, labels, annotations, args.new, diff].every(Object.isFrozen),
    kinds: [name, namespace, uid, resource.plural, reason, typeof args.retry, typeof args.runtime, typeof old],
    started: args.started instanceof Date,
    diff: diff.map(({ op, path }) => [op, path]),
    enumerable: Object.keys(args).sort(),
  }
}

export function write({ body }: Args): void {
  ;(body as { spec: object }).spec = {}
}

export function remember({ memo, logger }: Args): object {
  memo['calls'] = (memo['calls'] as number) + 1
  logger.info(`calls: ${memo['calls']}`)
  return { calls: memo['calls'], listed: Object.keys(memo) }
}

export function post({ recorder, body }: Args): void {
  recorder.info('Computed', 'in a worker')
  recorder.for(body).exception(new TypeError('no luck'))
}

/** Reads the argument that `spec.touch` names, such as `client`, `memo.socket` or `patch.fns`. */
export function touch(args: Args): void {
  const path = String(args.spec['touch']).split('.')
  path.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], args)
}

export const answers: Readonly<Record<string, unknown>> = {
  function: () => {},
  bigint: 2n ** 60n,
  date: new Date(0),
  nothing: undefined,
}

export function answer({ spec }: Args): unknown {
  return answers[spec['answer']]
}
