/** When an operator creates spans: providers that come late, are missing, are broken, or are not wanted. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Context, context, propagation, type Span, trace } from '@opentelemetry/api'
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { Operator } from 'kopf'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { Traces } from './traces.ts'

const lab = useCleanLab()
const traces = new Traces()
beforeEach(() => traces.reset())
afterEach(() => traces.unregister())

function createOperator(settings: { readonly enabled?: boolean } = {}): Operator {
  const kopf = new Operator({ settings: { tracing: settings } })
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  return kopf
}

async function handle(name: string): Promise<void> {
  await lab.create(name)
  await untilHandled(lab, name)
  await settle(lab)
}

test('a provider that a startup handler registers gets the spans', async () => {
  const kopf = createOperator()
  kopf.on.startup(() => traces.register())
  await lab.start(kopf)
  await handle('a')
  expect(traces.names).toContain('create c')
})

test('a provider that is registered while the operator runs gets the spans from then on', async () => {
  await lab.start(createOperator())
  await handle('a')
  traces.register()
  await handle('b')
  const roots = traces.roots.map(({ attributes }) => attributes['kopf.object.name'])
  expect(roots).toEqual(['b'])
})

test('a provider that is removed while the operator runs gets no more spans', async () => {
  traces.register()
  await lab.start(createOperator())
  await handle('a')
  traces.unregister()
  traces.reset()
  await handle('b')
  expect(traces.names).toEqual([])
})

test('the setting tracing.enabled turns the spans off and on while the operator runs', async () => {
  traces.register()
  const kopf = createOperator({ enabled: false })
  await lab.start(kopf)
  await handle('a')
  expect(traces.names).toEqual([])
  kopf.settings.tracing.enabled = true
  await handle('b')
  expect(traces.names).toContain('create c')
})

test('an operator beside the OpenTelemetry API without a provider works without spans', async () => {
  expect(trace.getActiveSpan()).toBeUndefined()
  const kopf = createOperator()
  const seen: unknown[] = []
  kopf.on.create(lab.widgets, { id: 'active' }, () => void seen.push(trace.getActiveSpan()))
  await lab.start(kopf)
  await handle('a')
  expect(seen).toEqual([undefined])
})

test('a provider without a context manager gets spans without parents, and one warning says why', async () => {
  traces.register()
  context.disable()
  await lab.start(createOperator())
  await handle('a')
  await handle('b')
  expect(traces.names).toEqual(['create c', 'create c'])
  const warnings = lab.logs.filter((line) => line.includes('OpenTelemetry'))
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain('registered without a context manager')
})

function fail(): never {
  throw new Error('The provider is broken')
}

const brokenSpan = new Proxy({} as Span, {
  get: (_, key) => (key === 'spanContext' ? () => ({ traceId: 7, spanId: null, traceFlags: 'x' }) : fail),
})

const working = { startSpan: () => brokenSpan, startActiveSpan: fail }

function registerContext(overrides: object): void {
  traces.register()
  context.disable()
  context.setGlobalContextManager({
    active: fail,
    with: fail,
    bind: fail,
    enable: fail,
    disable() {},
    ...overrides,
  } as never)
}

describe('an operator handles its objects, and warns once, with', () => {
  test.each<[string, () => void]>([
    ['a provider that throws', () => trace.setGlobalTracerProvider({ getTracer: fail })],
    [
      'a tracer that throws',
      () => trace.setGlobalTracerProvider({ getTracer: () => ({ ...working, startSpan: fail }) }),
    ],
    [
      'spans whose methods throw',
      () => {
        traces.register()
        trace.disable()
        trace.setGlobalTracerProvider({ getTracer: () => working })
      },
    ],
    [
      'a sampler that throws',
      () => new NodeTracerProvider({ sampler: { shouldSample: fail, toString: () => 'broken' } }).register(),
    ],
    [
      'a span processor that throws',
      () => {
        const processor = { onStart: fail, onEnd: fail, forceFlush: async () => {}, shutdown: async () => {} }
        new NodeTracerProvider({ spanProcessors: [processor] }).register()
      },
    ],
    [
      'a propagator that throws',
      () => {
        traces.register()
        propagation.disable()
        propagation.setGlobalPropagator({ inject: fail, extract: fail, fields: () => [] })
      },
    ],
    [
      'a context manager that throws after the call',
      () =>
        registerContext({
          with: (_: Context, fn: () => unknown) => {
            fn()
            fail()
          },
        }),
    ],
  ])('%s', async (_, register) => {
    register()
    let calls = 0
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'c' }, async ({ client, step }) => {
      calls += 1
      await step('one', () => 1)
      await client.list('configmaps')
      return { ok: true }
    })
    await lab.start(kopf)
    await handle('a')
    await handle('b')
    expect(calls).toBe(2)
    expect((await lab.get('a'))['status']).toEqual({ c: { ok: true } })
    const warnings = lab.logs.filter((line) => line.includes('Cannot record a span'))
    expect(warnings.length).toBeLessThanOrEqual(1)
    expect(lab.logs.filter((line) => line.includes('Throttling'))).toEqual([])
  })
})

test('the warning about a broken provider has its error', async () => {
  trace.setGlobalTracerProvider({ getTracer: fail })
  traces.register()
  await lab.start(createOperator())
  await handle('a')
  const warnings = lab.logs.filter((line) => line.includes('Cannot record a span'))
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain('The provider is broken')
})

test('an exporter that fails does not affect the operator', async () => {
  const exporter = { export: fail, shutdown: async () => {} }
  new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()
  await lab.start(createOperator())
  await handle('a')
  expect(lab.logs.filter((line) => line.includes('Throttling'))).toEqual([])
})

test('the package imports no package of OpenTelemetry', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
  const imports = files.filter((file) =>
    /(from|import)\s*\(?\s*['"]@opentelemetry\//.test(readFileSync(join('src', file), 'utf8')),
  )
  expect(imports).toEqual([])
})

test('a program whose operator handles an object without a provider loads no package of OpenTelemetry', async () => {
  const flags = [
    '--import',
    'tsx',
    '--import',
    './test/tracing/programs/refuse-open-telemetry.mjs',
    '--conditions=source',
  ]
  const program = [...flags, 'test/tracing/programs/without-provider.ts']
  const { stdout } = await promisify(execFile)(process.execPath, program, { timeout: 60_000 })
  expect(JSON.parse(stdout)).toEqual({ handled: 'a', api: 'undefined', refused: true })
}, 90_000)
