/** Handles one object without a tracer provider, and reports what the process has of OpenTelemetry. */
import { Operator } from 'kopf'
import { startCluster } from 'kopf/testing'

const cluster = await startCluster({ real: false })
const kopf = new Operator({ settings: { posting: { enabled: false } } })
let handled: string | undefined
kopf.on.create('configmaps', ({ name, step }) => {
  handled = name
  return step('one', () => undefined)
})
const running = await kopf.start({ ...cluster })
await running.ready
const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
await cluster.apply(configMap)
await cluster.until(() => handled !== undefined)
await running.stop()
await cluster.stop()

// Shows that an import would have failed.
const refused = await import('@opentelemetry/api').then(
  () => false,
  (error: unknown) => /refused/.test(String(error)),
)
const api = typeof Reflect.get(globalThis, Symbol.for('opentelemetry.js.api.1'))
process.stdout.write(JSON.stringify({ handled, api, refused }))
