// Started by webhook-memory.slow.test.ts with the heap of a small container. Serves webhooks, prints its URL, and reads each request completely.
import { Operator } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'

void Operator
const stopping = new AbortController()
const silent = () => {}
const clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms)
      signal?.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    }),
}
const logger = { debug: silent, info: silent, warn: silent, error: silent }
const kept = new Set()
const fn = async (review) => {
  // Like a handler that waits for another service and holds the request meanwhile.
  kept.add(review)
  await clock.sleep(50)
  kept.delete(review)
  return { response: { uid: review.request?.uid ?? '', allowed: true } }
}
const context = { signal: stopping.signal, logger, clock }
process.on('disconnect', () => process.exit(0))
for await (const { url } of new WebhookServer({ insecure: true, addr: '127.0.0.1' }).serve(fn, context)) {
  process.send({ url, heapMiB: (await import('node:v8')).getHeapStatistics().heap_size_limit / 2 ** 20 })
}
