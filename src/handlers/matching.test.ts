import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Essence, Reason } from '../causation/cause.ts'
import { diffValues } from '../causation/diff.ts'
import { createHandler } from '../handler-definitions.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { resolvePath } from '../util/json/paths.ts'
import { createSubhandler } from './create-handler.ts'
import { ABSENT, PRESENT } from './filters.ts'
import type { HandlerType } from './handler-types.ts'
import { type MatchContext, preMatches, selectChangeHandlers, selectHandlers, whyNot } from './matching.ts'

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

function situationOf(changes: Partial<MatchContext> = {}): MatchContext {
  return { resource, body: bodyOf(), args: () => ({}), ...changes }
}

const fn = () => undefined

function handlerOf(kind: HandlerType, options: object = {}, handler: unknown = fn) {
  return createHandler(kind, 'kopfexamples', { id: 'h', ...options }, handler)
}

describe('selection compared with Kopf', () => {
  interface Table {
    readonly handlers: readonly { readonly kind: HandlerType; readonly options: Record<string, unknown> }[]
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

  const hasDiff = (handler: (typeof handlers)[number], { old, new: now }: Table['situations'][number]): boolean =>
    handler.category !== 'change' ||
    !handler.needsChange ||
    handler.field === undefined ||
    diffValues(resolvePath(old, handler.field), resolvePath(now, handler.field)).length > 0

  test('the recorded selection table of Kopf is not empty', () => {
    expect(table.situations.length).toBeGreaterThan(200)
    expect(handlers.length).toBeGreaterThan(50)
  })

  test.each([...new Set(table.situations.map(({ reason }) => reason))])(
    'the handlers selected for the reason %s are the same as in Kopf',
    (reason) => {
      for (const row of table.situations.filter((each) => each.reason === reason)) {
        const { initial, deleting, old, labels } = row
        const context = situationOf({
          body: bodyOf({ labels }, row.new),
          reason,
          initial,
          deleting,
          old: old ?? undefined,
          new: row.new,
        })
        const indicesOf = (isChosen: (index: number) => boolean) => handlers.map((_, index) => index).filter(isChosen)
        const selected = indicesOf((index) => selectChangeHandlers([handlers[index]!], context).length > 0)
        const matching = indicesOf((index) => preMatches(handlers[index]!, context))
        // Kopf also calls field handlers for a change from absent to null, with an empty diff.
        const expected = row.selected.filter((index) => hasDiff(handlers[index]!, row))
        expect({ ...row, selected, matching }).toEqual({ ...row, selected: expected })
      }
    },
  )
})

describe('reasons', () => {
  test.each<[HandlerType, Partial<MatchContext>, boolean]>([
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
  ])('a "%s" handler in the situation %j is selected: %j', (kind, changes, isCalled) => {
    expect(selectChangeHandlers([handlerOf(kind)], situationOf(changes)).length).toBe(isCalled ? 1 : 0)
  })

  test('a resume handler with `deleted` is selected for a deletion', () => {
    const context = situationOf({ reason: 'delete', initial: true, deleting: true })
    expect(selectChangeHandlers([handlerOf('resume', { deleted: true })], context)).toHaveLength(1)
  })

  test('an event handler is selected without a reason', () => {
    expect(selectHandlers([handlerOf('event')], situationOf())).toHaveLength(1)
  })

  test('no change handler is selected without a reason', () => {
    expect(selectChangeHandlers([handlerOf('create')], situationOf())).toEqual([])
  })
})

describe('null in a field filter', () => {
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
    // Lists are compared as a whole, so that null inside a list counts as a value.
    [{ spec: { a: [{}] } }, { spec: { a: [{ b: null }] } }, true],
  ])('a change from %j to %j concerns a handler of the field: %j', (old, current, isChanged) => {
    const context = situationOf({ reason: 'update', old: old as Essence | undefined, new: current as Essence })
    expect(diffValues(resolvePath(old, ['spec', 'a']), resolvePath(current, ['spec', 'a'])).length > 0).toBe(isChanged)
    expect(selectChangeHandlers([field], context).length > 0).toBe(isChanged)
    expect(selectChangeHandlers([update], context).length > 0).toBe(isChanged)
    for (const reason of ['resume', 'delete'] as const) {
      expect(selectChangeHandlers([field], { ...context, reason }).length > 0).toBe(isChanged)
    }
  })

  test('null inside the object of a field is not a change of the field', () => {
    const context = situationOf({ reason: 'resume', old: { spec: { b: 1 } }, new: { spec: { a: null, b: 1 } } })
    expect(selectChangeHandlers([whole], context)).toEqual([])
    expect(whyNot(whole, context)).toBe('The field "spec" has not changed')
  })

  test('null counts as a value for PRESENT and ABSENT, as in Kopf', () => {
    const context = situationOf({ reason: 'update', old: { spec: { a: null } }, new: { spec: { a: 1 } } })
    expect(selectChangeHandlers([handlerOf('update', { field: 'spec.a', old: PRESENT })], context)).toHaveLength(1)
    expect(selectChangeHandlers([handlerOf('update', { field: 'spec.a', old: ABSENT })], context)).toEqual([])
  })
})

describe('a function registered twice', () => {
  const context = situationOf({ reason: 'update', initial: true })

  test('a function registered twice with one id is called once', () => {
    const selected = selectChangeHandlers([handlerOf('update'), handlerOf('resume')], context)
    expect(selected.map(({ type: kind }) => kind)).toEqual(['update'])
  })

  test('many functions registered twice with one id each are called once each', () => {
    const ids = Array.from({ length: 50 }, (_, index) => `h${index}`)
    const many = [...ids, ...ids].map((id) => handlerOf('update', { id }))
    expect(selectChangeHandlers(many, context).map(({ id }) => id)).toEqual(ids)
  })

  test('a function registered with two ids is called for each id', () => {
    expect(selectChangeHandlers([handlerOf('update'), handlerOf('resume', { id: 'other' })], context)).toHaveLength(2)
  })

  test('two functions with one id are both called', () => {
    expect(selectChangeHandlers([handlerOf('update'), handlerOf('resume', {}, () => 1)], context)).toHaveLength(2)
  })
})

describe('filters on the body', () => {
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
  ])('a handler with the filter %o is matched with the body %o', (options, rest, isCalled) => {
    const context = situationOf({ body: bodyOf({}, rest) })
    expect(selectHandlers([handlerOf('event', options)], context).length === 1).toBe(isCalled)
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
  ])('a handler with the label filter %o is matched with the labels %o', (labels, given, isCalled) => {
    const context = situationOf({ body: bodyOf({ labels: given }) })
    expect(selectHandlers([handlerOf('event', { labels })], context).length === 1).toBe(isCalled)
  })

  test('an object without metadata has no labels', () => {
    const body = { apiVersion: 'v1', kind: 'X' } as unknown as KubeObject
    expect(selectHandlers([handlerOf('event', { labels: { l: ABSENT } })], situationOf({ body }))).toHaveLength(1)
  })
})

describe('filter callbacks', () => {
  test('a filter callback gets the value and the arguments, which are created once and on demand', () => {
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
    const eventHandler = (...given: unknown[]) => seen.push(...given)
    selectHandlers(
      [handlerOf('event', { labels: { l: eventHandler }, when: eventHandler })],
      situationOf({ body, args: makeArgs }),
    )
    expect(seen).toEqual(['x', args, args])
  })

  test('a filter callback does not see the old value if the new value matches', () => {
    const seen: unknown[] = []
    const value = (given: unknown) => seen.push(given)
    const context = situationOf({ reason: 'create', old: { f: 1 }, new: { f: 2 } })
    selectChangeHandlers([handlerOf('create', { field: 'f', value })], context)
    expect(seen).toEqual([2])
  })

  test('the `when` callback runs after all other filters', () => {
    const when = () => {
      throw new Error('not to be called')
    }
    expect(selectHandlers([handlerOf('event', { labels: { l: 'x' }, when })], situationOf())).toEqual([])
  })

  const failing = () => {
    throw new Error('boom')
  }

  test.each<[string, HandlerType, object]>([
    ['when', 'event', { when: failing }],
    ['labels', 'event', { labels: { l: failing } }],
    ['annotations', 'event', { annotations: { l: failing } }],
    ['value', 'event', { field: 'f', value: failing }],
    ['old', 'update', { field: 'f', old: failing }],
    ['new', 'update', { field: 'f', new: failing }],
    ['when', 'event', { when: async () => true }],
  ])('a failing "%s" filter of a "%s" handler is an error with the id of the handler', (filter, kind, options) => {
    const change = { reason: 'update', old: { f: 1 }, new: { f: 2 } } as const
    const context = situationOf(kind === 'event' ? {} : change)
    expect(() => selectHandlers([handlerOf(kind, options)], context)).toThrow(
      new RegExp(`handler "h(/f)?" is for "ns/n": its "${filter}" filter failed: (boom|.*must be synchronous)`),
    )
  })

  test('filter callbacks for changes are not called by the pre-match', () => {
    const handler = handlerOf('update', { field: 'f', old: failing })
    expect(preMatches(handler, situationOf({ reason: 'update', old: { f: 1 }, new: { f: 2 } }))).toBe(true)
  })
})

describe('sub-handlers', () => {
  const context = situationOf({ reason: 'update', old: { f: 1, g: 1 }, new: { f: 2, g: 1 } })

  test.each<[HandlerType, string, boolean]>([
    ['update', 'f', true],
    ['update', 'g', false],
    ['resume', 'g', true],
  ])('a sub-handler of a "%s" handler with the field %s needs a change if its parent does', (kind, field, isCalled) => {
    const child = createSubhandler(handlerOf(kind), 'child', { field }, fn)
    expect(selectChangeHandlers([child], context).length === 1).toBe(isCalled)
  })
})

test.each<[string, HandlerType, object, Partial<MatchContext>]>([
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
  ['Its "when" returned false', 'event', { when: () => 0 }, {}],
])('the reason why a handler is not called is: %s', (sentence, kind, options, changes) => {
  expect(whyNot(handlerOf(kind, options), situationOf(changes))).toBe(sentence)
})

test('a handler that is called has no reason why not', () => {
  expect(whyNot(handlerOf('create'), situationOf({ reason: 'create' }))).toBeUndefined()
})
