/** Functions that run in worker threads, with argument types from the resource. Used by worker-types.ts. */
import { type KubeObject, type ResourceDefinition, resource, type WorkerArgs } from 'kopf'

interface DatabaseObject extends KubeObject {
  spec: { engine: 'postgres' | 'mysql'; size: number }
  status?: { phase: string }
}

export const Database: ResourceDefinition<DatabaseObject> = resource<DatabaseObject>('example.com/v1', 'databases')

export function create({ spec, patch, logger, signal, retry, memo }: WorkerArgs<'create', typeof Database>): object {
  signal.throwIfAborted()
  patch.status.phase = `${spec.engine}:${spec.size.toFixed()}`
  logger.info(`${retry} ${memo['anything']}`)
  return { size: spec.size }
}

export async function watch({ stopped, recorder }: WorkerArgs<'daemon', typeof Database>): Promise<void> {
  while (!(await stopped.wait('10s'))) recorder.info('Watched')
}

export function remember({ memo }: WorkerArgs<'timer', typeof Database, { pings: number }>): number {
  return memo.pings
}

export function prepare({ logger, started }: WorkerArgs<'startup'>): void {
  logger.info(started.toISOString())
}

export function wrong(args: WorkerArgs<'create', typeof Database>): void {
  // @ts-expect-error: it stays with the operator
  args.client
  // @ts-expect-error: it stays with the operator, too
  args.clock
  // @ts-expect-error: likewise
  args.indices
  // @ts-expect-error: likewise
  args.subhandler
  // @ts-expect-error: likewise
  args.execute
  // @ts-expect-error: there is no such field
  args.spec.sise
  // @ts-expect-error: the body is read-only
  args.spec.size = 5
  // @ts-expect-error: only daemons and timers are stopped
  args.stopped
}

export function wrongToo(args: WorkerArgs<'cleanup'>): void {
  // @ts-expect-error: settings are set in the thread of the operator
  args.settings
}
