/** Two admission handlers: one checks the size, one copies it. On SIGUSR2, prints the longest stall of the event loop. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { AdmissionError, Operator } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'

const { BENCH_GROUP, BENCH_PLURAL, BENCH_PORT, BENCH_CERT, BENCH_KEY } = process.env as Record<string, string>
const gadgets = [BENCH_GROUP!, 'v1', BENCH_PLURAL!] as const

const kopf: Operator = new Operator()
export default kopf

kopf.settings.admission.server = new WebhookServer({
  addr: '127.0.0.1',
  port: Number(BENCH_PORT),
  certfile: BENCH_CERT!,
  pkeyfile: BENCH_KEY!,
})

kopf.on.validate(gadgets, { id: 'validate' }, ({ spec }) => {
  if (spec['size'] < 0) throw new AdmissionError('the size is less than nothing', { status: 422 })
})

kopf.on.mutate(gadgets, { id: 'mutate' }, ({ spec, patch }) => {
  patch.spec['checked'] = spec['size']
})

const everyMs = 10
const delays = monitorEventLoopDelay({ resolution: everyMs })
delays.enable()

process.on('SIGUSR2', () => {
  console.log(`report ${JSON.stringify({ stallMs: Math.max(0, delays.max / 1e6 - everyMs) })}`)
  delays.reset()
})
