/** Daemons, timers and activities in threads. */
import type { WorkerArgs } from 'kopf'

/** Blocks its thread and polls the flag, like a synchronous daemon of Kopf. */
export function watch({ stopped, logger, param, spec }: WorkerArgs<'daemon', 'widgets'>): void {
  const cells = new Int32Array(param as SharedArrayBuffer)
  logger.info(`watching ${spec['size']}`)
  Atomics.store(cells, 0, 1)
  while (!stopped.isSet()) Atomics.wait(cells, 1, 0, 1)
  logger.info(`stopped by ${stopped.reason}, ${stopped.signal.aborted}`)
}

/** Frees its thread while it waits. */
export async function ping({ stopped, logger }: WorkerArgs<'daemon', 'widgets'>): Promise<void> {
  for (let pings = 1; !(await stopped.wait(pings === 1 ? 0.2 : 3600)); pings += 1) logger.info(`ping ${pings}`)
  logger.info(`stopped by ${stopped.reason}`)
}

export function tick({ patch, status }: WorkerArgs<'timer', 'widgets'>): void {
  patch.status['ticks'] = Number(status['ticks'] ?? 0) + 1
}

export function seen({ event, patch }: WorkerArgs<'event', 'widgets'>): void {
  if (event.object['status']?.['seen'] !== 'yes') patch.status['seen'] = 'yes'
}

export function prepare({ logger, memo, retry }: WorkerArgs<'startup'>): void {
  logger.info(`prepared ${memo['what']} at attempt ${retry}`)
}
