/** Helpers for the tests of indices. */
import type { Index } from 'kopf'
import { cutBy, gate, type Recording, refusal } from '../support/recording.ts'

/** The entries of an index in order. */
export function contentOf<K, V>(index: Index<K, V>): [K, V[]][] {
  return [...index].map(([key, values]) => [key, [...values]])
}

/** Simulates an outage of all watches, after which the resource version has expired (410 Gone). */
export function cutWatches(transport: Recording): { begin(): void; end(): void } {
  const [cut, goOn] = [gate(), gate()]
  let isDown = false
  transport.meddle = async ({ query }, send) => {
    if (query.get('watch') !== 'true') return send()
    if (!isDown) {
      const response = await send()
      return { ...response, body: cutBy(response.body, cut.opened) }
    }
    await goOn.opened
    return query.get('sendInitialEvents') === 'true' ? send() : refusal(410)
  }
  return {
    begin: () => {
      isDown = true
      cut.open()
    },
    end: () => goOn.open(),
  }
}

/** Holds back all watch events between `hold` and `letGo`. */
export function holdWatches(transport: Recording): { hold(): void; letGo(): void } {
  const held = gate()
  let isHolding = false
  async function* holding(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      if (isHolding) await held.opened
      yield chunk
    }
  }
  transport.meddle = async ({ query }, send) => {
    const response = await send()
    return query.get('watch') === 'true' ? { ...response, body: holding(response.body) } : response
  }
  return {
    hold: () => {
      isHolding = true
    },
    letGo: () => {
      isHolding = false
      held.open()
    },
  }
}
