/** A program that starts and stops operators, and prints its listeners and resources before and after as JSON. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ConnectionInfo, defineResource, Operator, type RunOptions, toCrd } from 'kopf'
import { startServer } from 'kopf/server'
import { startCluster } from 'kopf/testing'
import { WebhookServer } from 'kopf/webhooks'

const Widget = defineResource({ group: 'embedding.example.com', version: 'v1', kind: 'Widget' })
const rejections: unknown[] = []
process.on('unhandledRejection', (error) => rejections.push(String(error)))

function createOperator(): Operator {
  const kopf = new Operator()
  kopf.on.startup(({ settings }) => {
    settings.admission.server = new WebhookServer({ addr: '127.0.0.1', host: '127.0.0.1' })
    settings.admission.managed = 'embedding.example.com'
  })
  kopf.on.validate(Widget, () => {})
  kopf.on.create(Widget, ({ recorder }) => recorder.info('Created', 'Hello'))
  kopf.on.delete(Widget, () => {})
  kopf.timer(Widget, { interval: '1h' }, () => {})
  kopf.daemon(Widget, async ({ stopped }) => void (await stopped.wait('1h')))
  kopf.index(Widget, ({ name }) => name)
  return kopf
}

function state() {
  const listeners = process.eventNames().map((name) => [String(name), process.listenerCount(name)])
  // Streams of the output belong to the program.
  const resources = process
    .getActiveResourcesInfo()
    .filter((name) => !/^(Pipe|TTY|File)|Immediate|TickObject/.test(name))
  return { listeners, resources }
}

async function live(kopf: Operator, options: RunOptions): Promise<void> {
  const running = await kopf.start(options)
  await running.ready
  await running.stop()
}

const before = state()
{
  // Over sockets, with the system clock.
  await using server = await startServer()
  const { url, ca, token, api } = server
  const post = (path: string, body: object) => api.send({ method: 'POST', path, body: JSON.stringify(body) })
  await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', toCrd(Widget))
  await post('/apis/embedding.example.com/v1/namespaces/default/widgets', { metadata: { name: 'w' } })
  const connection = new ConnectionInfo({ server: url, caData: ca, token })
  const livenessEndpoint = 'http://127.0.0.1:0/healthz'
  await Promise.all([
    live(createOperator(), { connection, livenessEndpoint }),
    live(createOperator(), { connection, signal: new AbortController().signal }),
  ])
}
{
  // In process, as in tests.
  await using cluster = await startCluster({ resources: [Widget] })
  await cluster.create(Widget, { name: 'w' })
  await using _operator = await createOperator().start(cluster)
  await cluster.until(Widget, 'w', ({ metadata }) => metadata.finalizers?.length === 1)
}
for (let turn = 0; turn < 50; turn += 1) await nextTurn()
process.stdout.write(`${JSON.stringify({ before, after: state(), rejections })}\n`)
