import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { resolvePath } from '../../util/paths.ts'
import type { Essence, Reason } from '../causation/causes.ts'
import { diffValues } from '../causation/diff.ts'
import { ABSENT, PRESENT } from './filters.ts'
import type { HandlerKind } from './kinds.ts'
import { createHandler, createSubhandler } from './register.ts'
import { preMatches, type Situation, selectChangeHandlers, selectHandlers, whyNot } from './select.ts'

const resource: Resource = {
  group: 'kopf.dev',
  version: 'v1',
  plural: 'kopfexamples',
  kind: 'KopfExample',
  singular: 'kopfexample',
  shortcuts: ['kex'],
  categories: [],
  subresources: [],
  namespaced: true,
  preferred: true,
  verbs: ['list', 'watch', 'patch'],
}

function bodyOf(metadata: object = {}, rest: object = {}): KubeObject {
  return {
    apiVersion: 'kopf.dev/v1',
    kind: 'KopfExample',
    metadata: { name: 'n', namespace: 'ns', ...metadata },
    ...rest,
  }
}

function situationOf(changes: Partial<Situation> = {}): Situation {
  return { resource, body: bodyOf(), args: () => ({}), ...changes }
}

const fn = () => undefined

function handlerOf(kind: HandlerKind, options: object = {}, handler: unknown = fn) {
  return createHandler(kind, 'kopfexamples', { id: 'h', ...options }, handler)
}

describe('the same handlers are selected as by Kopf', () => {
  interface Table {
    readonly handlers: readonly { readonly kind: HandlerKind; readonly options: Record<string, unknown> }[]
    readonly situations: readonly {
      readonly reason: Reason
      readonly initial: boolean
      readonly deleting: boolean
      readonly old: Essence | null
      readonly new: Essence
      readonly labels: Record<string, string>
      readonly selected: readonly number[]
      readonly matching: readonly number[]
    }[]
  }

  const tokens = new Map<unknown, unknown>([
    ['$PRESENT', PRESENT],
    ['$ABSENT', ABSENT],
    ['$is-x', (value: unknown) => value === 'x'],
  ])
  const withTokens = (_key: string, value: unknown): unknown => tokens.get(value) ?? value
  const path = new URL('testdata/select-kopf.json', import.meta.url)
  const table = JSON.parse(readFileSync(path, 'utf8'), withTokens) as Table
  const handlers = table.handlers.map(({ kind, options: { field, ...options } }) =>
    kind === 'field'
      ? createHandler(kind, 'kopfexamples', options, fn, field as string)
      : createHandler(kind, 'kopfexamples', { ...options, ...(field !== undefined && { field }) }, fn),
  )

  const hasDiff = ({ needsChange, field }: (typeof handlers)[number], row: Table['situations'][number]): boolean =>
    !needsChange ||
    field === undefined ||
    diffValues(resolvePath(row.old, field), resolvePath(row.new, field)).length > 0

  test('the table is there', () => {
    expect(table.situations.length).toBeGreaterThan(200)
    expect(handlers.length).toBeGreaterThan(50)
  })

  test.each([...new Set(table.situations.map(({ reason }) => reason))])('for %s', (reason) => {
    for (const row of table.situations.filter((each) => each.reason === reason)) {
      const { initial, deleting, old, labels } = row
      const situation = situationOf({
        body: bodyOf({ labels }, row.new),
        reason,
        initial,
        deleting,
        old: old ?? undefined,
        new: row.new,
      })
      const indicesOf = (isChosen: (index: number) => boolean) => handlers.map((_, index) => index).filter(isChosen)
      const selected = indicesOf((index) => selectChangeHandlers([handlers[index]!], situation).length > 0)
      const matching = indicesOf((index) => preMatches(handlers[index]!, situation))
      // Kopf also calls handlers of a field that was absent and is null, with an empty diff.
      const expected = row.selected.filter((index) => hasDiff(handlers[index]!, row))
      expect({ ...row, selected, matching }).toEqual({ ...row, selected: expected })
    }
  })
})

describe('reasons', () => {
  test.each<[HandlerKind, Partial<Situation>, boolean]>([
    ['create', { reason: 'create' }, true],
    ['create', { reason: 'update' }, false],
    ['create', { reason: 'noop' }, false],
    ['resume', { reason: 'resume', initial: true }, true],
    ['resume', { reason: 'update', initial: true }, true],
    ['resume', { reason: 'update', initial: false }, false],
    ['resume', { reason: 'create', initial: false }, false],
    ['resume', { reason: 'delete', initial: true, deleting: true }, false],
    ['resume', { reason: 'noop', initial: true }, false],
    ['resume', { reason: 'gone', initial: true }, false],
    ['resume', { reason: 'free', initial: true, deleting: true }, false],
  ])('a handler of %s, when it is %j: %j', (kind, changes, isCalled) => {
    expect(selectChangeHandlers([handlerOf(kind)], situationOf(changes)).length).toBe(isCalled ? 1 : 0)
  })

  test('a resume handler with `deleted` is mixed into a deletion', () => {
    const situation = situationOf({ reason: 'delete', initial: true, deleting: true })
    expect(selectChangeHandlers([handlerOf('resume', { deleted: true })], situation)).toHaveLength(1)
  })

  test('whoever sees every event needs no reason', () => {
    expect(selectHandlers([handlerOf('event')], situationOf())).toHaveLength(1)
  })

  test('without a reason there are no change handlers', () => {
    expect(selectChangeHandlers([handlerOf('create')], situationOf())).toEqual([])
  })
})

describe('null in a field', () => {
  const field = createHandler('field', 'kopfexamples', { id: 'h' }, fn, 'spec.a')
  const whole = createHandler('field', 'kopfexamples', { id: 'h' }, fn, 'spec')
  const update = handlerOf('update', { field: 'spec.a' })

  test.each<[object | undefined, object, boolean]>([
    [{ spec: {} }, { spec: { a: null } }, false],
    [{ spec: { a: null } }, { spec: {} }, false],
    [{ spec: { a: {} } }, { spec: { a: { b: null } } }, false],
    [{ spec: { a: { b: null, c: { d: null } } } }, { spec: { a: { c: {} } } }, false],
    [{}, { spec: { a: null } }, false],
    [undefined, { spec: { a: null } }, false],
    [{ spec: { a: null } }, { spec: { a: 1 } }, true],
    [{ spec: { a: 0 } }, { spec: { a: null } }, true],
    [{ spec: { a: null } }, { spec: { a: {} } }, true],
    // Lists are compared as a whole, where null is an item or a field like any other.
    [{ spec: { a: [{}] } }, { spec: { a: [{ b: null }] } }, true],
  ])('a change from %j to %j concerns a handler of the field: %j', (old, current, isChanged) => {
    const situation = situationOf({ reason: 'update', old: old as Essence | undefined, new: current as Essence })
    expect(diffValues(resolvePath(old, ['spec', 'a']), resolvePath(current, ['spec', 'a'])).length > 0).toBe(isChanged)
    expect(selectChangeHandlers([field], situation).length > 0).toBe(isChanged)
    expect(selectChangeHandlers([update], situation).length > 0).toBe(isChanged)
    for (const reason of ['resume', 'delete'] as const) {
      expect(selectChangeHandlers([field], { ...situation, reason }).length > 0).toBe(isChanged)
    }
  })

  test('null within the object of a field is no change of the field', () => {
    const situation = situationOf({ reason: 'resume', old: { spec: { b: 1 } }, new: { spec: { a: null, b: 1 } } })
    expect(selectChangeHandlers([whole], situation)).toEqual([])
    expect(whyNot(whole, situation)).toBe('The field "spec" has not changed')
  })

  test('null is a value for PRESENT and ABSENT, as in Kopf', () => {
    const situation = situationOf({ reason: 'update', old: { spec: { a: null } }, new: { spec: { a: 1 } } })
    expect(selectChangeHandlers([handlerOf('update', { field: 'spec.a', old: PRESENT })], situation)).toHaveLength(1)
    expect(selectChangeHandlers([handlerOf('update', { field: 'spec.a', old: ABSENT })], situation)).toEqual([])
  })
})

describe('a function registered twice under one id', () => {
  const situation = situationOf({ reason: 'update', initial: true })

  test('is called once', () => {
    const selected = selectChangeHandlers([handlerOf('update'), handlerOf('resume')], situation)
    expect(selected.map(({ kind }) => kind)).toEqual(['update'])
  })

  test('is called once among many', () => {
    const ids = Array.from({ length: 50 }, (_, index) => `h${index}`)
    const many = [...ids, ...ids].map((id) => handlerOf('update', { id }))
    expect(selectChangeHandlers(many, situation).map(({ id }) => id)).toEqual(ids)
  })

  test('is called for each id', () => {
    expect(selectChangeHandlers([handlerOf('update'), handlerOf('resume', { id: 'other' })], situation)).toHaveLength(2)
  })

  test('is not taken for another function of that id', () => {
    expect(selectChangeHandlers([handlerOf('update'), handlerOf('resume', {}, () => 1)], situation)).toHaveLength(2)
  })
})

describe('the body of an event', () => {
  test.each<[object, object, boolean]>([
    [{ field: 'spec.f' }, { spec: { f: 0 } }, true],
    [{ field: 'spec.f' }, { spec: { f: null } }, true],
    [{ field: 'spec.f' }, { spec: [] }, false],
    [{ field: 'spec.f', value: { a: [1, { b: 2 }] } }, { spec: { f: { a: [1, { b: 2 }] } } }, true],
    [{ field: 'spec.f', value: 9007199254740993n }, { spec: { f: 9007199254740993n } }, true],
    [{ field: 'spec.f', value: ABSENT }, {}, true],
    [{ field: 'spec.f', value: (value: unknown) => value === undefined }, {}, true],
    [{ field: 'spec.constructor' }, { spec: {} }, false],
    [{ field: ['spec', 'a.b'] }, { spec: { 'a.b': 1 } }, true],
    [{ field: '__proto__' }, {}, false],
  ])('%o against %o', (options, rest, isCalled) => {
    const situation = situationOf({ body: bodyOf({}, rest) })
    expect(selectHandlers([handlerOf('event', options)], situation).length === 1).toBe(isCalled)
  })

  test.each<[object, unknown, boolean]>([
    [{ l: 'x' }, undefined, false],
    [{ l: 'x' }, null, false],
    [{ l: 'x' }, 'l', false],
    [{ constructor: PRESENT }, {}, false],
    [{ constructor: 'x' }, { constructor: 'x' }, true],
    [{ l: (value: unknown) => value === undefined }, {}, true],
    [{ l: PRESENT }, { l: '' }, true],
    [{}, undefined, true],
  ])('labels %o against %o', (labels, given, isCalled) => {
    const situation = situationOf({ body: bodyOf({ labels: given }) })
    expect(selectHandlers([handlerOf('event', { labels })], situation).length === 1).toBe(isCalled)
  })

  test('an object without any metadata has no labels', () => {
    const body = { apiVersion: 'v1', kind: 'X' } as unknown as KubeObject
    expect(selectHandlers([handlerOf('event', { labels: { l: ABSENT } })], situationOf({ body }))).toHaveLength(1)
  })
})

describe('callbacks', () => {
  test('get the value and the arguments, made once and only where they are asked for', () => {
    let made = 0
    const seen: unknown[] = []
    const args = { name: 'n' }
    const makeArgs = () => {
      made += 1
      return args
    }
    const body = bodyOf({ labels: { l: 'x' } })
    selectHandlers([handlerOf('event', { labels: { l: 'x' } })], situationOf({ body, args: makeArgs }))
    expect(made).toBe(0)
    const spy = (...given: unknown[]) => seen.push(...given)
    selectHandlers([handlerOf('event', { labels: { l: spy }, when: spy })], situationOf({ body, args: makeArgs }))
    expect(seen).toEqual(['x', args, args])
  })

  test('the old value is not asked for where the new one matches', () => {
    const seen: unknown[] = []
    const value = (given: unknown) => seen.push(given)
    const situation = situationOf({ reason: 'create', old: { f: 1 }, new: { f: 2 } })
    selectChangeHandlers([handlerOf('create', { field: 'f', value })], situation)
    expect(seen).toEqual([2])
  })

  test('`when` comes last', () => {
    const when = () => {
      throw new Error('not to be called')
    }
    expect(selectHandlers([handlerOf('event', { labels: { l: 'x' }, when })], situationOf())).toEqual([])
  })

  const failing = () => {
    throw new Error('boom')
  }

  test.each<[string, HandlerKind, object]>([
    ['when', 'event', { when: failing }],
    ['labels', 'event', { labels: { l: failing } }],
    ['annotations', 'event', { annotations: { l: failing } }],
    ['value', 'event', { field: 'f', value: failing }],
    ['old', 'update', { field: 'f', old: failing }],
    ['new', 'update', { field: 'f', new: failing }],
    ['when', 'event', { when: async () => true }],
  ])('a failing "%s" of %s is told with the id of the handler', (filter, kind, options) => {
    const change = { reason: 'update', old: { f: 1 }, new: { f: 2 } } as const
    const situation = situationOf(kind === 'event' ? {} : change)
    expect(() => selectHandlers([handlerOf(kind, options)], situation)).toThrow(
      new RegExp(`handler "h(/f)?" is for "ns/n": its "${filter}" filter failed: (boom|.*not async)`),
    )
  })

  test('are not called again for what only changes would tell', () => {
    const handler = handlerOf('update', { field: 'f', old: failing })
    expect(preMatches(handler, situationOf({ reason: 'update', old: { f: 1 }, new: { f: 2 } }))).toBe(true)
  })
})

describe('sub-handlers', () => {
  const situation = situationOf({ reason: 'update', old: { f: 1, g: 1 }, new: { f: 2, g: 1 } })

  test.each<[HandlerKind, string, boolean]>([
    ['update', 'f', true],
    ['update', 'g', false],
    ['resume', 'g', true],
  ])('need a change where their parent, a handler of %s, does: field %s', (kind, field, isCalled) => {
    const child = createSubhandler(handlerOf(kind), 'child', { field }, fn)
    expect(selectChangeHandlers([child], situation).length === 1).toBe(isCalled)
  })
})

test.each<[string, HandlerKind, object, Partial<Situation>]>([
  ['It is for create, and this is update', 'create', {}, { reason: 'update' }],
  ['Nothing has happened that handlers are called for: the reason is noop', 'create', {}, { reason: 'noop' }],
  [
    'It is for objects that were there when the operator started and were not handled since',
    'resume',
    {},
    { reason: 'update' },
  ],
  [
    'It is not for objects that are being deleted: it has no option "deleted"',
    'resume',
    {},
    { reason: 'delete', initial: true, deleting: true },
  ],
  [
    'It is for kopfexamples, and this is one of pods',
    'event',
    {},
    { resource: { ...resource, plural: 'pods', kind: 'Pod', singular: 'pod', shortcuts: [] } },
  ],
  ['The label "l" does not match', 'event', { labels: { l: 'x' } }, {}],
  ['The annotation "a" does not match', 'event', { annotations: { a: PRESENT } }, {}],
  ['The field "spec.f" has no value', 'event', { field: 'spec.f' }, {}],
  ['The value of the field "spec.f" does not match', 'event', { field: 'spec.f', value: 1 }, {}],
  ['The field "f" has not changed', 'update', { field: 'f' }, { reason: 'update', old: { f: 1 }, new: { f: 1 } }],
  [
    'The old value of the field "f" does not match',
    'update',
    { field: 'f', old: 3 },
    { reason: 'update', old: { f: 1 }, new: { f: 2 } },
  ],
  [
    'The new value of the field "f" does not match',
    'update',
    { field: 'f', new: 3 },
    { reason: 'update', old: { f: 1 }, new: { f: 2 } },
  ],
  ['Its "when" says no', 'event', { when: () => 0 }, {}],
])('says why not: %s', (sentence, kind, options, changes) => {
  expect(whyNot(handlerOf(kind, options), situationOf(changes))).toBe(sentence)
})

test('has nothing to say of a handler that is called', () => {
  expect(whyNot(handlerOf('create'), situationOf({ reason: 'create' }))).toBeUndefined()
})
