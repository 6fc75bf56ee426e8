import type { WorkerArgs } from 'kopf'
import type { PrimeList } from './operator.ts'

/** Computes without interruption. In the main thread, it would block the whole operator. */
export default function primes({ spec, logger, signal }: WorkerArgs<'create', typeof PrimeList>) {
  const found: number[] = []
  for (let number = 2; found.length < spec.count; number += 1) {
    signal.throwIfAborted()
    if (found.every((prime) => number % prime > 0)) found.push(number)
  }
  logger.info(`The largest of ${found.length} primes is ${found.at(-1)}`)
  return { largest: found.at(-1) }
}
