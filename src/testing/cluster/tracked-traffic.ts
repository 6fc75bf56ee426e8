/**
 * Reports every request, response and chunk of a body to the skipping clock, so that it does not skip time while they are in
 * progress.
 */
import type { Transport } from '../../util/transport.ts'
import type { SkippingClock } from '../skipping-clock.ts'
import type { WriteCounts } from './write-counts.ts'

export function trackTraffic(transport: Transport, clock: SkippingClock, writes?: WriteCounts): Transport {
  return {
    async send(request, signal) {
      clock.stir()
      writes?.record(request, clock.now())
      try {
        const response = await transport.send(request, signal)
        return { ...response, body: trackBody(response.body, clock) }
      } finally {
        clock.stir()
      }
    },
  }
}

function trackBody(body: AsyncIterable<Uint8Array>, clock: SkippingClock): AsyncIterable<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const result = await chunks.next()
        clock.stir()
        return result
      },
      return: async () => (await chunks.return?.()) ?? { done: true, value: undefined },
    }),
  }
}
