/**
 * One operator starts handling, another continues: Python's Kopf and this package on the same objects of a real control plane, in
 * both directions. The pair of two Python operators is the control: a failure there is an error of the test.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import type { Body } from '../../support/answers.ts'
import { useCluster } from '../../support/cluster.ts'
import {
  annotationsOf,
  isHandled,
  type Language,
  leftovers,
  Objects,
  progressOf,
  resultOf,
  startOperator,
  useKopf,
} from './paired-operators.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', subresources: { status: {} } })
  await cluster.install({ kind: 'Plain' })
})

const longId = 'long'.repeat(20)
/** The annotation keys of Kopf for that id: the newer has 63 characters after the slash, the older has 63 in total. */
const longKeys = [/^kopf\.zalando\.org\/(?:long){14}-[\w.-]{6}$/, /^kopf\.zalando\.org\/(?:long){9}lon-[\w.-]{6}$/]

/** The state of each object after which the first operator is stopped. The label of an object is its name. */
const reached: Readonly<Record<string, (body: Body) => boolean>> = {
  retries: (body) => (progressOf(body, 'retries')?.retries ?? 0) >= 2,
  long: (body) => annotationNames(body).some((name) => name.startsWith('kopf.zalando.org/long')),
  handled: isHandled,
  failed: isHandled,
  changed: isHandled,
  halfway: (body) => progressOf(body, 'halfway') !== undefined,
  field: isHandled,
  resumed: isHandled,
  deleted: (body) => body.metadata.finalizers?.length === 1,
  deleting: (body) => body.metadata.finalizers?.length === 1,
  family: (body) => isDone(body, 'family.a') && (progressOf(body, 'family.b')?.retries ?? 0) >= 1,
}

function isDone(body: Body, key: string): boolean {
  return progressOf(body, key)?.success === true
}

function annotationNames(body: Body): string[] {
  return Object.keys(annotationsOf(body))
}

const pairs: ReadonlyArray<readonly [Language, Language]> = [
  ['python', 'python'],
  ['python', 'ours'],
  ['ours', 'python'],
]

describe.each(pairs)('a handover from %s to %s', (first, second) => {
  let widgets: Objects
  let plains: Objects
  let operator: OperatorProcess
  let namespace: string
  /** The objects after the end of the first operator. */
  const left: Record<string, Body> = {}

  const start = (language: Language, phase: 'first' | 'second', namespace: string): Promise<OperatorProcess> => {
    const env = { GROUP: cluster.group, PHASE: phase }
    return startOperator(language, { name: 'handover', namespace, kubeconfig: real.kubeconfigs.operator, env })
  }

  beforeAll(async () => {
    namespace = await cluster.createNamespace(`${first}-${second}`)
    const path = `/apis/${cluster.group}/v1/namespaces/${namespace}`
    const apiVersion = `${cluster.group}/v1`
    widgets = new Objects(cluster.api, `${path}/widgets`, { apiVersion, kind: 'Widget' })
    plains = new Objects(cluster.api, `${path}/plains`, { apiVersion, kind: 'Plain' })
    await playFirst()
    await changeMeanwhile()
    operator = await start(second, 'second', namespace)
  }, 60_000)

  async function playFirst(): Promise<void> {
    await using beginner = await start(first, 'first', namespace)
    for (const name of Object.keys(reached)) await widgets.create(name, { case: name })
    await plains.create('plain')
    for (const [name, isReached] of Object.entries(reached)) await widgets.until(name, beginner, isReached)
    await plains.until('plain', beginner, isHandled)
    // An unfinished deletion: the handler has failed once.
    await widgets.delete('deleting')
    await widgets.until('deleting', beginner, (body) => (progressOf(body, 'slow_cleanup')?.retries ?? 0) >= 1)
    await beginner.stop()
    for (const name of Object.keys(reached)) left[name] = await widgets.get(name)
    left['plain'] = await plains.get('plain')
  }

  async function changeMeanwhile(): Promise<void> {
    await widgets.patch('changed', { spec: { size: 2, colour: 'red' }, metadata: { annotations: { note: 'new' } } })
    await widgets.patch('field', { spec: { size: 2 } })
    await widgets.patch('halfway', { spec: { size: 2 } })
    await widgets.delete('deleted')
  }

  afterAll(() => operator?.stop())

  const finished = (id: string) => (body: Body) => resultOf(body, id)?.['by'] === second && leftovers(body).length === 0

  test('the second operator continues the retries of a handler, with their count and start', async () => {
    const record = progressOf(left['retries']!, 'retries')!
    const body = await widgets.until('retries', operator, finished('retries'))
    const result = resultOf(body, 'retries')!
    expect(result).toMatchObject({ by: second, retry: record.retries })
    expect(Date.parse(String(result['started']))).toBe(Date.parse(record.started))
    expect(isHandled(body)).toBe(true)
  })

  test('the progress of a handler with a long id is found under both keys, and both are purged', async () => {
    const names = annotationNames(left['long']!)
    for (const key of longKeys) expect(names.filter((name) => key.test(name))).toHaveLength(1)
    const body = await widgets.until('long', operator, finished(longId))
    expect(resultOf(body, longId)?.['retry']).toBeGreaterThan(0)
    expect(annotationNames(body).filter((name) => name.startsWith('kopf.zalando.org/long'))).toEqual([])
  })

  test('the progress record of an attempt has the fields of Kopf', () => {
    const record = progressOf(left['retries']!, 'retries')
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/)
    expect(record).toEqual({
      started: time,
      delayed: time,
      purpose: 'create',
      retries: expect.any(Number),
      success: false,
      failure: false,
      message: 'not yet',
    })
  })

  test('the last-handled-configuration has the format of Kopf', () => {
    const text = annotationsOf(left['handled']!)['kopf.zalando.org/last-handled-configuration']!
    expect(text.endsWith('}\n')).toBe(true)
    expect(JSON.parse(text)).toEqual({ spec: { size: 1 }, metadata: { labels: { case: 'handled' } } })
    expect(text.trimEnd()).toBe(JSON.stringify(JSON.parse(text)))
  })

  test('results of handlers are in the status under the handler id', () => {
    expect(left['handled']!.status).toMatchObject({
      handled: { by: first, text: 'grüße', list: [1, null, { a: 1.5 }] },
    })
    expect(left['plain']!.status).toMatchObject({ handled: { by: first } })
  })

  test('the second operator neither handles nor writes objects that are handled or have failed permanently', async () => {
    await widgets.create('sentinel', { case: 'handled' })
    // The sentinel is created after the other objects, so they have been processed when it is handled.
    await widgets.until('sentinel', operator, finished('handled'))
    for (const name of ['handled', 'failed']) expect(await widgets.get(name)).toEqual(left[name])
    expect(await plains.get('plain')).toEqual(left['plain'])
  })

  test('a change between the operators is an update with its diff', async () => {
    const body = await widgets.until('changed', operator, finished('changed'))
    expect(resultOf(body, 'made')).toMatchObject({ by: first })
    expect(resultOf(body, 'changed')).toEqual({
      by: second,
      diff: [
        ['add', ['metadata', 'annotations'], null, { note: 'new' }],
        ['add', ['spec', 'colour'], null, 'red'],
        ['change', ['spec', 'size'], 1, 2],
      ],
      old: 1,
      new: 2,
    })
  })

  test('an unfinished creation stays a creation when the object changes between the operators', async () => {
    const record = progressOf(left['halfway']!, 'halfway')!
    const body = await widgets.until('halfway', operator, finished('halfway'))
    expect(resultOf(body, 'halfway')).toEqual({ by: second, reason: 'create', retry: record.retries })
  })

  test('a field handler gets the last handled value as old', async () => {
    const id = 'sized/spec.size'
    expect(resultOf(left['field']!, id)).toEqual({ by: first, new: 1 })
    const body = await widgets.until('field', operator, finished(id))
    expect(resultOf(body, id)).toEqual({ by: second, old: 1, new: 2 })
  })

  test('the second operator resumes existing objects', async () => {
    expect(resultOf(left['resumed']!, 'resumed')).toBeUndefined()
    await widgets.until('resumed', operator, finished('resumed'))
  })

  test('the second operator calls its delete handlers and removes the finalizer of the first', async () => {
    expect(left['deleted']!.metadata.finalizers).toEqual(['kopf.zalando.org/KopfFinalizerMarker'])
    await widgets.untilGone('deleted', operator)
    await operator.until((output) => output.includes('cleaned up deleted'))
  })

  test('the second operator continues the retries of a delete handler', async () => {
    const { retries } = progressOf(left['deleting']!, 'slow_cleanup')!
    await widgets.untilGone('deleting', operator)
    await operator.until((output) => output.includes(`cleaned up deleting at attempt ${retries}`))
  })

  test('the second operator does not repeat a finished sub-handler', async () => {
    const body = await widgets.until('family', operator, finished('family/b'))
    expect(resultOf(body, 'family/a')).toEqual({ by: first })
    expect(resultOf(body, 'family/b')?.['retry']).toBe(progressOf(left['family']!, 'family.b')!.retries)
    expect(isHandled(body)).toBe(true)
  })

  test('the first operator finds nothing to do when it comes back', async () => {
    const names = ['retries', 'long', 'handled', 'failed', 'changed', 'halfway', 'field', 'family']
    await operator.stop()
    const before = await Promise.all(names.map((name) => widgets.get(name)))
    operator = await start(first, 'second', namespace)
    await widgets.create('sentinel-2', { case: 'handled' })
    await widgets.until('sentinel-2', operator, (body) => resultOf(body, 'handled')?.['by'] === first)
    const after = await Promise.all(names.map((name) => widgets.get(name)))
    expect(after.map(({ status }) => status)).toEqual(before.map(({ status }) => status))
    expect(after.flatMap(leftovers)).toEqual([])
  })
})
