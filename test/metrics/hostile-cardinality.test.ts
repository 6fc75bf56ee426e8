/** Objects, requests and sub-handlers with strange names create no series: their number depends on the operator only. */

import type { Observer, Resource } from 'kopf'
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { ObjectStates } from '../../src/metrics/object-states.ts'
import { HandlerLabels, maxNamespaces, NamespaceLabels } from '../../src/metrics/operator/handler-labels.ts'
import { startOperatorMetrics } from '../../src/metrics/operator/operator-metrics.ts'
import type { UserMetrics } from '../../src/metrics/user-metrics.ts'
import { internalsOf } from '../../src/operator-internals.ts'
import { createSettings } from '../../src/settings/settings.ts'
import { systemClock } from '../../src/util/async/clock.ts'
import { expectLinearGrowth } from '../support/growth.ts'
import { untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab({ hasSockets: true })

const strange = [
  '"},evil="1',
  'a\nb 1',
  '\\',
  '{}',
  '../..',
  'x'.repeat(5000),
  '\u0000',
  'é\u2028',
  '__name__',
  'other',
]

const resource = { group: 'example.com', version: 'v1', plural: 'widgets', kind: 'Widget' } as Resource

/** Listeners of a run whose operator has the handlers `make` and `make/deep`. */
function startSeries({ namespaces = false } = {}) {
  const kopf = new Operator()
  kopf.on.create('widgets', { id: 'make' }, () => {})
  kopf.timer('widgets', { id: 'tick', interval: 1 }, () => {})
  const { registry } = kopf.metrics as UserMetrics
  const listeners: Observer[] = []
  const started = startOperatorMetrics({
    registry,
    clock: systemClock,
    settings: createSettings({ metrics: { namespaces } }),
    handlers: internalsOf(kopf).registry,
    name: undefined,
    listen: (listener) => listeners.push(listener),
    objects: () => [],
    isCandidate: () => false,
  })
  const emit: <K extends keyof Observer>(name: K, event: Parameters<NonNullable<Observer[K]>>[0]) => void = (
    name,
    event,
  ) => {
    for (const listener of listeners) (listener[name] as ((event: unknown) => void) | undefined)?.(event)
  }
  emit('resourceServed', {
    resource,
    handlerTypes: ['create', 'timer'],
    handlers: [
      { id: 'make', type: 'create' },
      { id: 'tick', type: 'timer' },
    ],
  })
  const text = async () => (await registry.render(undefined)).body
  return { emit, text, started }
}

/** The series without those of the process, whose garbage collection may begin at any time. */
function seriesIn(text: string): string[] {
  const lines = text.split('\n').filter((line) => line !== '' && !/^(#|nodejs_|process_)/.test(line))
  return lines.map((line) => line.slice(0, line.lastIndexOf(' ')))
}

test('thousands of objects with strange names and failing handlers create no new series', async () => {
  const { emit, text, started } = startSeries()
  const live = (index: number) => {
    const name = `${strange[index % strange.length]}${index}`
    const object = { resource, name, namespace: name, uid: `uid-${name}` }
    const handler = { id: 'make', type: 'create' }
    const error = new Error(name)
    emit('eventReceived', { object, type: 'ADDED' })
    emit('workQueued', { object, priority: 'now', isRetry: false })
    emit('processingStarted', { object, priority: 'now', waitedMs: 1 })
    emit('decisionMade', { object, decision: { type: 'handle', reason: 'create' } })
    emit('handlerStarted', { handler, object, retry: 0 })
    emit('handlerFinished', { handler, object, retry: 0, outcome: 'retrying', durationMs: 1, delayMs: 1, error })
    const sub = { id: `make/${name}`, type: 'subhandler' }
    emit('handlerFinished', {
      handler: sub,
      object,
      retry: 0,
      outcome: 'failed',
      durationMs: 1,
      delayMs: undefined,
      error,
    })
    emit('patchWritten', { object, purpose: 'handling', requests: 1, writes: [], authors: new Map() })
    emit('staleStateDropped', { object })
    emit('daemonStarted', { object, handler: { id: 'tick', type: 'timer' } })
    emit('timerFired', { object, handler: { id: 'tick', type: 'timer' }, latenessMs: 1 })
    emit('contentionFound', { owner: object, child: object })
    const request = { method: 'PATCH', path: `/${name}`, purpose: 'handling', attempt: 1, durationMs: 1 } as const
    emit('requestFinished', { ...request, resource, code: 200 })
    const outcome = {
      result: 'error',
      outcome: 'retrying',
      reconciling: undefined,
      delayMs: 1,
      isDeleting: false,
    } as const
    emit('processingFinished', { object, durationMs: 1, error, hasFailedPermanently: false, ...outcome })
  }
  live(0)
  const before = seriesIn(await text())
  for (let index = 1; index < 5000; index += 1) live(index)
  const after = seriesIn(await text())
  expect(after).toEqual(before)
  expect(after.join('\n')).not.toMatch(/evil|uid-|x{100}/)
  expect(started.states.size).toBe(5000)
})

test('resources, codes and streams beyond the limit of a metric are counted as other', async () => {
  const { emit, text } = startSeries()
  for (let index = 0; index < 3000; index += 1) {
    const many = { ...resource, plural: `kind${index}` }
    const request = { method: 'GET', path: '/', purpose: 'client', attempt: 1, durationMs: 1, code: 200 } as const
    emit('requestFinished', { ...request, resource: many })
    emit('workQueued', {
      object: { resource: many, name: 'a', namespace: undefined, uid: undefined },
      priority: 'now',
      isRetry: false,
    })
  }
  const series = seriesIn(await text())
  expect(series.filter((one) => one.startsWith('kopf_requests_total')).length).toBe(1001)
  expect(series).toContain('kopf_requests_total{purpose="other",resource="other",code="other"}')
  expect(series.filter((one) => one.startsWith('workqueue_adds_total')).length).toBe(1001)
})

test('with the label namespace, namespaces beyond the limit are counted as other', async () => {
  const labels = new NamespaceLabels()
  for (let index = 0; index < maxNamespaces; index += 1) expect(labels.of(`ns-${index}`)).toBe(`ns-${index}`)
  expect(labels.of('one-more')).toBe('other')
  expect(labels.of('ns-0')).toBe('ns-0')
  expect(labels.of(undefined)).toBe('')
})

test.each([
  ['make', 'create', 'make'],
  ['unknown', 'create', 'other'],
  ['make/alice', 'subhandler', 'make'],
  ['make/alice/deep', 'subhandler', 'make'],
  ['make/spec.size/alice', 'subhandler', 'make/spec.size'],
  ['makes/alice', 'subhandler', 'other'],
  ['make', 'subhandler', 'other'],
])('the handler %s of the type %s has the label %s', (id, type, label) => {
  const labels = new HandlerLabels([{ id: 'make' }, { id: 'make/spec.size' }])
  expect(labels.of({ id, type })).toBe(label)
  expect(labels.of({ id, type })).toBe(label)
})

test('sub-handlers and namespaces that come from an object do not appear in the text', async () => {
  const kopf = new Operator({ settings: { metrics: { address: 'http://127.0.0.1:0' } } })
  kopf.on.create(lab.widgets, { id: 'make' }, ({ spec, subhandler }) => {
    for (const user of (spec as { users: string[] }).users) subhandler(user, () => {})
  })
  await lab.start(kopf)
  await lab.create('one', { spec: { users: ['alice', 'b/o/b', 'evil"'] } })
  await untilHandled(lab, 'one')
  const { body } = await (kopf.metrics as UserMetrics).registry.render(undefined)
  expect(body).toContain('handler="make",type="subhandler",outcome="succeeded"} 3')
  expect(body).not.toMatch(/alice|evil|b\/o\/b/)
  expect(body).not.toContain(lab.namespace)
})

test('the states of objects need memory only for those that are not handled, and the work per event does not grow', async () => {
  const states = new ObjectStates({ nowMs: () => 0 })
  const { listener } = states
  const objects = (n: number) =>
    Array.from({ length: n }, (_, index) => ({ resource, name: `a${index}`, namespace: 'b', uid: `${index}` }))
  await expectLinearGrowth({
    n: 2000,
    prepare: objects,
    run: (all) => {
      for (const object of all) listener.workQueued!({ object, priority: 'backlog', isRetry: false })
      expect(states.size).toBe(all.length)
      expect(states.countsOf(resource).waiting).toBe(all.length)
      for (const object of all) {
        listener.processingStarted!({ object, priority: 'backlog', waitedMs: 0 })
        listener.decisionMade!({ object, decision: { type: 'handle', reason: 'create' } })
        const finished = { durationMs: 1, error: undefined, result: 'success', outcome: 'created' } as const
        const rest = { reconciling: undefined, hasFailedPermanently: false, delayMs: undefined, isDeleting: false }
        listener.processingFinished!({ object, ...finished, ...rest })
      }
      expect(states.size).toBe(0)
      expect(states.countsOf(resource)).toEqual({ failed: 0, retrying: 0, handling: 0, waiting: 0, deleting: 0 })
    },
  })
})
