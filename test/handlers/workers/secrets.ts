/** Checks in a thread that concealed values are of the class that the thread has loaded. */
import { ConcealedValue, type WorkerArgs } from 'kopf'

export function describe({ old, new: now, diff, logger }: WorkerArgs<'update', 'secrets'>): void {
  const former = old?.data?.['password']
  const [item] = diff
  const report = {
    isConcealed: former instanceof ConcealedValue,
    isFrozen: Object.isFrozen(old?.data),
    matchesOld: former instanceof ConcealedValue && former.matches('b25l'),
    matchesNew: former instanceof ConcealedValue && former.matches('dHdv'),
    new: now?.data?.['password'],
    changed: item?.[1].join('.'),
    isChangeConcealed: item?.[2] instanceof ConcealedValue,
    to: item?.[3],
  }
  logger.info(`report ${JSON.stringify(report)}`)
}
