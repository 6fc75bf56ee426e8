import { describe, expect, test } from 'vitest'
import { createHandler } from '../handler-definitions.ts'
import type { HandlerType } from '../handlers/handler-types.ts'
import { Registry } from '../handlers/registry.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { Operator } from '../operator.ts'
import { AnnotationsProgressStorage } from '../persistence/progress-storage.ts'
import { createSettings, type PartialSettings } from '../settings/settings.ts'
import { explainObject } from './explain.ts'

const nowMs = Date.parse('2026-01-31T12:00:00Z')
const finalizer = 'kopf.zalando.org/KopfFinalizerMarker'

function resourceOf(kind: string, group: string = 'kopf.dev'): Resource {
  const singular = kind.toLowerCase()
  const names = { group, version: 'v1', plural: `${singular}s`, kind, singular, shortcuts: [], categories: [] }
  return { ...names, subresources: [], namespaced: true, preferred: true, verbs: ['list', 'watch', 'patch'] }
}

const resource = resourceOf('KopfExample')

function bodyOf(metadata: object = {}, rest: object = {}): KubeObject {
  const names = { name: 'n', namespace: 'ns', uid: 'u', creationTimestamp: '2026-01-31T11:00:00Z' }
  return { apiVersion: 'kopf.dev/v1', kind: 'KopfExample', metadata: { ...names, ...metadata }, ...rest }
}

/** Annotations with the records of handlers, in the format of Kopf. */
function stored(records: Readonly<Record<string, object>>, handled?: object): Record<string, string> {
  const entries = Object.entries(records).map(([id, record]) => [`kopf.zalando.org/${id}`, JSON.stringify(record)])
  const last = handled && { 'kopf.zalando.org/last-handled-configuration': `${JSON.stringify(handled)}\n` }
  return { ...Object.fromEntries(entries), ...last }
}

const fn = () => undefined

type Row = readonly [kind: HandlerType, options: object]

function explain(rows: readonly Row[], body: KubeObject, settings: PartialSettings = {}, of: Resource = resource) {
  const registry = new Registry()
  for (const [kind, options] of rows) {
    const isActivity = kind === 'startup'
    registry.add(createHandler(kind, isActivity ? undefined : of.plural, options, fn))
  }
  return explainObject({
    registry,
    settings: createSettings(settings),
    resource: of,
    body,
    nowMs,
    memo: () => ({}),
    name: undefined,
  })
}

function verdictsOf(rows: readonly Row[], body: KubeObject): string[] {
  return explain(rows, body).handlers.map(({ id, verdict, why }) => `${id} ${verdict}: ${why}`)
}

const record = {
  started: '2026-01-31T11:59:00.000000+00:00',
  purpose: 'create',
  retries: 1,
  success: false,
  failure: false,
}
const waiting = { ...record, delayed: '2026-01-31T12:00:30.000000+00:00', message: 'oops' }
const due = { ...record, delayed: '2026-01-31T11:59:59.000000+00:00', retries: 2 }
const succeeded = { ...record, success: true, stopped: '2026-01-31T11:59:30.000000+00:00' }
const failed = { ...record, failure: true, message: 'no way' }

describe('explained handlers', () => {
  test('the explanation of a new object names the creation handlers whose filters match', () => {
    const rows: Row[] = [
      ['create', { id: 'all' }],
      ['create', { id: 'label', labels: { a: 'b' } }],
      ['create', { id: 'annotation', annotations: { a: 'b' } }],
      ['create', { id: 'field', field: 'spec.x' }],
      ['create', { id: 'when', when: () => false }],
      ['update', { id: 'update' }],
      ['delete', { id: 'delete', optional: true }],
      ['resume', { id: 'resume' }],
    ]
    expect(verdictsOf(rows, bodyOf())).toEqual([
      'all now: It is called for create',
      'label no: The label "a" does not match',
      'annotation no: The annotation "a" does not match',
      'field/spec.x no: The field "spec.x" has no value',
      'when no: Its "when" returned false',
      'update no: It is for update, and this is create',
      'delete no: It is for delete, and this is create',
      'resume no: It is for objects that were handled before, and this one is handled as created first',
    ])
  })

  test('the explanation says from the records which handlers have finished, which wait, and which are due', () => {
    const rows = ['waiting', 'due', 'succeeded', 'failed', 'fresh'].map((id): Row => ['create', { id }])
    const { handlers } = explain(rows, bodyOf({ annotations: stored({ waiting, due, succeeded, failed }) }))
    expect(handlers.map(({ id, verdict, why, at }) => [id, verdict, why, at])).toEqual([
      [
        'waiting',
        'later',
        'It is called again for create: 1 attempt has failed (oops)',
        '2026-01-31T12:00:30.000000+00:00',
      ],
      ['due', 'now', 'It is called for create: attempt 3', undefined],
      ['succeeded', 'done', 'It has succeeded; other handlers have not finished', undefined],
      ['failed', 'done', 'It has failed permanently (no way); other handlers have not finished', undefined],
      ['fresh', 'now', 'It is called for create', undefined],
    ])
  })

  test('the explanation says that a handler without time or attempts left is given up', () => {
    const rows: Row[] = [
      ['create', { id: 'due', retries: 2 }],
      ['create', { id: 'late', timeout: 30 }],
    ]
    expect(verdictsOf(rows, bodyOf({ annotations: stored({ due, late: due }) }))).toEqual([
      'due done: It is not called any more: Handler "due" has exceeded 2 retries',
      'late done: It is not called any more: Handler "late" has timed out after 60 seconds',
    ])
  })

  test('the explanation of a changed object names the update handlers whose field has changed', () => {
    const body = bodyOf({ annotations: stored({}, { spec: { x: 1, y: 1 } }) }, { spec: { x: 2, y: 1 } })
    const rows: Row[] = [
      ['update', { id: 'x', field: 'spec.x' }],
      ['update', { id: 'y', field: 'spec.y' }],
      ['create', { id: 'create' }],
      ['resume', { id: 'resume' }],
    ]
    expect(verdictsOf(rows, body)).toEqual([
      'x/spec.x now: It is called for update',
      'y/spec.y no: The field "spec.y" has not changed',
      'create no: It is for create, and this is update',
      'resume later: It is called when the operator is started',
    ])
  })

  test('the explanation of an unchanged object names only resume handlers', () => {
    const body = bodyOf({ annotations: stored({}, { spec: { x: 1 } }) }, { spec: { x: 1 } })
    const rows: Row[] = [
      ['update', { id: 'update' }],
      ['update', { id: 'label', labels: { a: 'b' } }],
      ['resume', { id: 'resume' }],
    ]
    expect(verdictsOf(rows, body)).toEqual([
      'update no: Nothing has changed since the object was handled',
      'label no: The label "a" does not match',
      'resume later: It is called when the operator is started',
    ])
    expect(explain(rows, body)).toMatchObject({ reason: 'noop', handled: 'is', changes: [] })
  })

  test('the explanation of a deleted object names the deletion handlers while our finalizer is present', () => {
    const deletionTimestamp = '2026-01-31T11:59:00Z'
    const rows: Row[] = [
      ['delete', { id: 'delete' }],
      ['daemon', { id: 'daemon' }],
    ]
    expect(verdictsOf(rows, bodyOf({ deletionTimestamp, finalizers: [finalizer] }))).toEqual([
      'delete now: It is called for delete',
      'daemon no: The object is being deleted: the daemon or timer is stopped',
    ])
    expect(verdictsOf(rows, bodyOf({ deletionTimestamp, finalizers: ['other/one'] }))[0]).toBe(
      'delete no: The object is being deleted, and has no finalizer of the operator: no handler is called',
    )
  })

  test('the explanation describes handlers that do not depend on changes', () => {
    const rows: Row[] = [
      ['index', { id: 'index' }],
      ['event', { id: 'event' }],
      ['daemon', { id: 'daemon' }],
      ['timer', { id: 'timer', interval: 1, finalizer: false }],
      ['validate', { id: 'validate', operations: ['CREATE'] }],
    ]
    expect(verdictsOf(rows, bodyOf())).toEqual([
      'index later: It is called with every state of the object',
      'event later: It is called with every event of the object',
      'daemon later: It starts when the finalizer of the operator is on the object',
      'timer runs: It runs, unless it has ended by itself, which is not stored',
      'validate later: The API server asks it before the object is stored (CREATE)',
    ])
    expect(verdictsOf(rows, bodyOf({ finalizers: [finalizer] }))[2]).toMatch(/^daemon runs/)
  })

  test('the explanation says for which events a reconciler is called, and what delays it', () => {
    const deletionTimestamp = '2026-01-31T11:59:00Z'
    const rows: Row[] = [
      ['reconcile', { id: 'plain', owns: ['services'], watches: [['secrets', () => []]] }],
      ['reconcile', { id: 'cleaning', cleanup: true }],
      ['reconcile', { id: 'other', labels: { a: 'b' } }],
    ]
    const always = 'It is called at the start, and whenever the object'
    const [plain, cleaning, other] = verdictsOf(rows, bodyOf())
    expect(plain).toBe(
      `plain later: ${always}, or one of its services, or one of its secrets changes; nothing is stored`,
    )
    expect(cleaning).toBe('cleaning later: It is called when the finalizer of the operator is on the object')
    expect(other).toBe('other no: The label "a" does not match')
    expect(verdictsOf(rows, bodyOf({ finalizers: [finalizer] }))[1]).toBe(
      `cleaning later: ${always} changes; its steps are stored until it returns without an error`,
    )
    expect(verdictsOf(rows, bodyOf({ deletionTimestamp, finalizers: [finalizer] }))[1]).toBe(
      'cleaning runs: It is called until it returns without an error: the object stays until then',
    )
    expect(verdictsOf(rows, bodyOf({ deletionTimestamp, finalizers: ['other/one'] }))[1]).toBe(
      'cleaning no: The object is being deleted, and has no finalizer of the operator: the clean-up is done',
    )
    expect(explain(rows, bodyOf()).notes).toEqual([`The finalizer "${finalizer}" is added first`])
  })

  test('the explanation lists the steps of a reconciler as its own records', () => {
    const records = { cleaning: { ...record, subrefs: ['cleaning/a'] }, 'cleaning.a': succeeded }
    const { progress } = explain(
      [['reconcile', { id: 'cleaning', cleanup: true }]],
      bodyOf({ annotations: stored(records) }),
    )
    expect(progress.map(({ id, state }) => [id, state])).toEqual([
      ['cleaning', 'due'],
      ['cleaning/a', 'succeeded'],
    ])
  })

  test('the explanation keeps its verdicts on other handlers when a filter fails or uses missing arguments', () => {
    const rows: Row[] = [
      ['create', { id: 'fails', when: () => Promise.resolve(true) }],
      ['create', { id: 'asks', when: ({ client }: { client: { get(): void } }) => client.get() }],
      ['create', { id: 'fine', when: ({ memo, name }: { memo: object; name: string }) => memo && name === 'n' }],
    ]
    const [fails, asks, fine] = verdictsOf(rows, bodyOf())
    expect(fails).toMatch(/^fails unclear: Cannot tell whether handler "fails" is for "ns\/n".*must be synchronous/)
    expect(asks).toMatch(/^asks unclear: .*Cannot use "client" in a filter while an object is explained/)
    expect(fine).toBe('fine now: It is called for create')
  })

  test('the explanation of a handler that finished on an older state has the diff since that state', () => {
    const seen = 'a-digest-of-another-state'
    const body = bodyOf({ annotations: stored({ quick: { ...succeeded, seen } }) }, { spec: { x: 2 } })
    const annotations = {
      ...body.metadata.annotations,
      'kopf.zalando.org/seen-configurations': JSON.stringify({ [seen]: { spec: { x: 1 } } }),
    }
    const rows: Row[] = [
      ['create', { id: 'quick' }],
      ['update', { id: 'quick' }],
    ]
    expect(verdictsOf(rows, { ...body, metadata: { ...body.metadata, annotations } })).toEqual([
      'quick done: It has finished; it is called only for later changes',
      'quick now: It is called for what has changed since it finished',
    ])
  })
})

describe('explained state', () => {
  test('the explanation lists the records of handlers, of sub-handlers and of unknown handlers', () => {
    const parent = { ...waiting, subrefs: ['parent/kid'] }
    const annotations = stored({ parent, 'parent.kid': waiting, stranger: due })
    const { progress } = explain([['create', { id: 'parent' }]], bodyOf({ annotations }))
    expect(progress.map(({ id, state, places }) => [id, state, places])).toEqual([
      ['parent', 'waiting', ['kopf.zalando.org/parent']],
      ['parent/kid', 'waiting', ['kopf.zalando.org/parent.kid']],
      ['stranger', 'due', ['kopf.zalando.org/stranger']],
    ])
    expect(progress[0]).toMatchObject({ purpose: 'create', retries: 1, message: 'oops', subhandlers: ['parent/kid'] })
  })

  test('the explanation lists a long id with two annotations once', () => {
    const id = 'long'.repeat(20)
    const storage = new AnnotationsProgressStorage()
    const patch = { metadata: { annotations: {} } }
    storage.store({ key: id, record: waiting, body: bodyOf(), patch })
    const { annotations } = patch.metadata
    expect(Object.keys(annotations)).toHaveLength(2)
    expect(explain([['create', { id }]], bodyOf({ annotations })).progress.map((one) => one.id)).toEqual([id])
    expect(explain([], bodyOf({ annotations })).progress).toHaveLength(1)
  })

  test('the explanation lists progress that old versions of Kopf stored in the status', () => {
    const { progress } = explain([], bodyOf({}, { status: { kopf: { progress: { old: due } } } }))
    expect(progress).toMatchObject([{ id: 'old', places: ['status.kopf.progress.old'], retries: 2 }])
  })

  test('the explanation names the owner of each finalizer and the annotation prefixes of other operators', () => {
    const annotations = {
      ...stored({}, { spec: {} }),
      'kopf.zalando.org/touch-dummy': 'x',
      'other.example.com/kopf-managed': 'yes',
      'other.example.com/theirs': JSON.stringify(due),
      'unrelated.example.com/x': 'y',
    }
    const explanation = explain([], bodyOf({ annotations, finalizers: ['a/b', finalizer] }, { spec: {} }))
    expect(explanation.finalizers).toEqual([
      { name: 'a/b', isOurs: false },
      { name: finalizer, isOurs: true },
    ])
    expect(explanation.annotations).toEqual([
      { prefix: 'kopf.zalando.org', isOurs: true, names: ['last-handled-configuration', 'touch-dummy'] },
      { prefix: 'other.example.com', isOurs: false, names: ['kopf-managed'] },
    ])
    expect(explanation.progress.map(({ places }) => places[0])).toEqual(['other.example.com/theirs'])
  })

  test('the explanation uses the storages and finalizers of the settings', () => {
    const progressStorage = new AnnotationsProgressStorage({ prefix: 'mine.example.com' })
    const annotations = { 'mine.example.com/h': JSON.stringify(waiting) }
    const body = bodyOf({ annotations, finalizers: ['mine/f'] })
    const explanation = explain([['create', { id: 'h' }]], body, {
      persistence: { progressStorage, finalizer: 'mine/f' },
    })
    expect(explanation.storage).toMatchObject({ progress: 'annotations of mine.example.com', finalizer: 'mine/f' })
    expect(explanation.finalizers).toEqual([{ name: 'mine/f', isOurs: true }])
    expect(explanation.handlers[0]).toMatchObject({ verdict: 'later' })
  })

  test('the explanation shows changes, but no content of a Secret', () => {
    const handled = { data: { password: 'b2xk' }, type: 'Opaque' }
    const body = { ...bodyOf({ annotations: stored({}, handled) }), apiVersion: 'v1', kind: 'Secret' }
    const secret = { ...body, type: 'Opaque', data: { password: 'bmV3' } }
    const explanation = explain([['update', { id: 'u' }]], secret, {}, resourceOf('Secret', ''))
    expect(explanation.changes).toMatchObject([{ operation: 'change', field: ['data', 'password'] }])
    expect(JSON.stringify(explanation)).not.toMatch(/b2xk|bmV3/)
  })
})

describe('explanation notes', () => {
  test.each<[string, Row[], KubeObject, RegExp]>([
    ['startup handlers', [['startup', { id: 'configure' }]], bodyOf(), /Startup handlers are not called.*"configure"/],
    ['a finalizer that will be added', [['delete', { id: 'd' }]], bodyOf(), /is added first/],
    ['a finalizer that will be removed', [['create', { id: 'c' }]], bodyOf({ finalizers: [finalizer] }), /is removed/],
    [
      'an object without matching handlers',
      [['create', { id: 'c', labels: { a: 'b' } }]],
      bodyOf(),
      /No change handler can match/,
    ],
    [
      'a change that a deletion has superseded',
      [['delete', { id: 'd' }]],
      bodyOf({
        deletionTimestamp: '2026-01-31T11:59:00Z',
        finalizers: [finalizer],
        annotations: stored({ d: { ...succeeded } }),
      }),
      /Creation is superseded by deletion/,
    ],
  ])('the explanation has a note on %s', (_, rows, body, note) => {
    expect(explain(rows, body).notes.join('\n')).toMatch(note)
  })
})

describe('the resource of an explained object', () => {
  const kopf = new Operator()
  kopf.on.create('kopfexamples', { id: 'c' }, fn)

  test.each([
    ['a plural', 'kopfexamples'],
    ['a plural with its group', 'kopfexamples.kopf.dev'],
    ['a kind', 'KopfExample'],
    ['a short name', 'kex'],
    ['a list of parts', ['kopf.dev', 'v1', 'kopfexamples'] as const],
    ['a resource of discovery', resource],
  ])('an object can be explained by %s', (_, like) => {
    const { handlers, decision } = kopf.explain(like as string, bodyOf())
    expect(handlers).toMatchObject([{ id: 'c', verdict: 'now' }])
    expect(decision).toMatchObject({ type: 'handle', reason: 'create' })
  })

  test('an object of another group is refused', () => {
    expect(() => kopf.explain('kopfexamples.example.com', bodyOf())).toThrow(
      'Cannot explain "n" as one of kopfexamples.example.com: it is a KopfExample of kopf.dev/v1',
    )
  })
})

test('the finalizer of a deleted object stays in the decision while a reconciler has to clean up', () => {
  const body = bodyOf({ finalizers: [finalizer], deletionTimestamp: '2026-01-31T11:30:00Z' })
  const { decision } = explain([['reconcile', { cleanup: true }]], body)
  expect(decision).toEqual({ type: 'ignore', reason: 'no-handlers' })
})
