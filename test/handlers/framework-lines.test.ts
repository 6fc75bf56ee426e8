/** Framework log lines: marked by their source, with a log level of their own. */
import { inWorker, type LogSink, Operator, type RunOptions } from 'kopf'
import { expect, test } from 'vitest'
import { untilHandled, useCleanLab } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'

const lab = useCleanLab()
const handlers = new URL('./workers/handlers.ts', import.meta.url)

type LogRecord = Parameters<LogSink['log']>[0]

function collect(minimumLevel: LogSink['minimumLevel'] = 'debug') {
  const records: LogRecord[] = []
  const sink: LogSink = { minimumLevel, log: (record) => records.push(record) }
  return { records, sink }
}

type SettingsOptions = NonNullable<NonNullable<ConstructorParameters<typeof Operator>[0]>['settings']>

function operatorOf(settings: SettingsOptions = {}): Operator {
  const kopf = new Operator({ settings })
  kopf.on.create(lab.widgets, { id: 'make' }, ({ logger }) => logger.info('Made'))
  return kopf
}

async function handle(kopf: Operator, options: RunOptions): Promise<void> {
  await lab.start(kopf, options)
  await lab.create('one', {})
  await untilHandled(lab, 'one')
  await lab.stopAll()
}

const linesOf = (records: readonly LogRecord[], source: LogRecord['source']): string[] =>
  records.filter((record) => record.source === source).map(({ message }) => message)

test('a log sink gets the source of each line: handler or framework', async () => {
  const { records, sink } = collect()
  const kopf = operatorOf()
  kopf.on.startup(({ logger }) => logger.info('At the start'))
  kopf.on.event(lab.widgets, ({ logger }) => logger.info('Seen'))
  kopf.index(lab.widgets, { id: 'kept' }, ({ logger }) => logger.info('Indexed'))
  kopf.on.create(lab.widgets, { id: 'filtered', when: ({ logger }) => logger.info('Filtered') as never }, () => {})
  kopf.daemon(lab.widgets, ({ logger }) => logger.info('Accompanied'))
  await handle(kopf, { logging: sink })
  const written = new Set(linesOf(records, 'handler'))
  expect([...written].sort()).toEqual(['Accompanied', 'At the start', 'Filtered', 'Indexed', 'Made', 'Seen'])
  const own = linesOf(records, 'framework')
  expect(own).toContain("Handler 'make' succeeded.")
  expect(own).toContain('Creation is processed: 1 succeeded; 0 failed.')
  expect(records.find(({ message }) => message === 'Made')?.name).toBe('kopf.objects')
  expect(records.find(({ message }) => message.startsWith("Handler 'make' succ"))?.name).toBe('kopf.objects')
})

test('a log line of a handler in a worker thread has the source handler', async () => {
  const { records, sink } = collect()
  const kopf = new Operator()
  const compute = inWorker(handlers, { name: 'compute' })
  kopf.on.create(lab.widgets, { id: 'compute' }, (args: object) => lab.outside(compute(args)))
  await lab.start(kopf, { logging: sink })
  await lab.create('one', { spec: { size: 1 } })
  await untilHandled(lab, 'one')
  await lab.stopAll()
  expect(linesOf(records, 'handler').length).toBeGreaterThan(0)
  expect(linesOf(records, 'handler').join('\n')).not.toMatch(/Handler '|processed/)
})

test('settings.logging.frameworkLevel suppresses framework lines below it, and no line of a handler', async () => {
  const { records, sink } = collect()
  await handle(operatorOf({ logging: { frameworkLevel: 'warn' } }), { logging: sink })
  expect(records.map(({ message }) => message)).toEqual(['Made'])
})

test('settings.logging.frameworkLevel can be set in a startup handler', async () => {
  const { records, sink } = collect('info')
  const kopf = operatorOf()
  kopf.on.startup(({ settings }) => {
    settings.logging.frameworkLevel = 'error'
  })
  await handle(kopf, { logging: sink })
  const ofObjects = records.filter(({ name }) => name === 'kopf.objects')
  expect(ofObjects.map(({ message }) => message)).toEqual(['Made'])
})

test('the option frameworkLogLevel of start overrides settings.logging.frameworkLevel', async () => {
  const { records, sink } = collect()
  const kopf = operatorOf({ logging: { frameworkLevel: 'error' } })
  await handle(kopf, { logging: sink, frameworkLogLevel: 'info' })
  const own = linesOf(records, 'framework')
  expect(own).toContain("Handler 'make' succeeded.")
  expect(own).not.toContain("Handler 'make' is invoked.")
})

test('errors of handlers are logged even with the framework level error', async () => {
  const { records, sink } = collect()
  const kopf = operatorOf({ logging: { frameworkLevel: 'error' } })
  kopf.on.create(lab.widgets, { id: 'fail', errors: 'permanent' }, () => {
    throw new Error('boom')
  })
  await handle(kopf, { logging: sink })
  expect(linesOf(records, 'framework')).toEqual(["Handler 'fail' failed with an exception and will stop now: boom"])
})

test('a pino-like logger gets the source of framework lines, and the unchanged fields of handler lines', async () => {
  const calls: Array<readonly [object, string]> = []
  const at = (fields: object, message: string): void => void calls.push([fields, message])
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'make' }, ({ logger }) => logger.info('Made', { source: 'a bucket' }))
  await handle(kopf, { logging: { level: 'info', debug: at, info: at, warn: at, error: at } })
  const fieldsOf = (text: string) => calls.find(([, message]) => message.startsWith(text))?.[0]
  expect(fieldsOf('Made')).toMatchObject({ logger: 'kopf.objects', source: 'a bucket' })
  expect(fieldsOf("Handler 'make' succeeded")).toMatchObject({ logger: 'kopf.objects', source: 'framework' })
})

test('a suppressed framework line is not posted as a Kubernetes event', async () => {
  const { sink } = collect()
  const posting = { loggers: true, level: 'info' } as const
  const kopf = operatorOf({ posting, logging: { frameworkLevel: 'warn' } })
  await lab.start(kopf, { logging: sink })
  await lab.create('one', {})
  await untilHandled(lab, 'one')
  const uid = (await lab.get('one')).metadata.uid
  const path = `/api/v1/namespaces/${lab.namespace}/events?fieldSelector=involvedObject.uid%3D${uid}`
  // The operator posts the pending events before it has stopped.
  await lab.stopAll()
  const events = (await lab.call('GET', path)).body['items'] as Body[]
  expect(events.map((event) => event['message'])).toEqual(['Made'])
})
