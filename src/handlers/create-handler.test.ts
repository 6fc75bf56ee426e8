import { describe, expect, test } from 'vitest'
import { createHandler } from '../handler-definitions.ts'
import { createSubhandler, isSuspiciousName } from './create-handler.ts'
import { ABSENT, PRESENT } from './filters.ts'
import type { HandlerType } from './handler-types.ts'

function create_fn() {}
const anonymous = [() => undefined][0]!

describe('handler ids', () => {
  test.each<[string, HandlerType, object | undefined, unknown]>([
    ['create_fn', 'create', undefined, create_fn],
    ['given', 'create', { id: 'given' }, create_fn],
    ['create', 'create', {}, anonymous],
    ['event', 'event', {}, anonymous],
    ['create_fn/spec.size', 'create', { field: 'spec.size' }, create_fn],
    ['given/spec.size', 'update', { id: 'given', field: ['spec', 'size'] }, create_fn],
    ['create/metadata.labels.a.b/c', 'create', { field: ['metadata', 'labels', 'a.b/c'] }, anonymous],
    ['create_fn', 'create', {}, create_fn.bind(null).bind(null)],
    ['create_fn', 'create', {}, create_fn.bind(null)],
    ['startup', 'startup', {}, anonymous],
    ['create_fn', 'cleanup', {}, create_fn],
  ])('the id %s is derived from the options or the function', (id, kind, options, fn) => {
    expect(createHandler(kind, 'kopfexamples', options, fn).id).toBe(id)
  })

  test('the id of a field handler contains its field', () => {
    const handler = createHandler('field', 'kopfexamples', { id: 'given' }, create_fn, 'spec.size')
    expect(handler).toMatchObject({ id: 'given/spec.size', field: ['spec', 'size'] })
  })

  test('the id of a sub-handler contains the id of its parent, but no field', () => {
    const parent = createHandler('create', 'kopfexamples', { id: 'p' }, anonymous)
    const child = createSubhandler(parent, 'c', { field: 'spec.size' }, anonymous)
    expect(child.id).toBe('p/c')
    expect(createSubhandler(child, undefined, undefined, create_fn).id).toBe('p/c/create_fn')
  })

  test.each<[boolean, object, unknown]>([
    [true, {}, { e: () => 1 }.e],
    [true, { field: 'a' }, { ab: () => 1 }.ab],
    [false, {}, { abc: () => 1 }.abc],
    [false, {}, anonymous],
    [false, { id: 'given' }, { e: () => 1 }.e],
  ])('a function name of one or two letters is suspicious: %j', (isSuspicious, options, fn) => {
    expect(isSuspiciousName(createHandler('create', 'kopfexamples', options, fn))).toBe(isSuspicious)
  })
})

describe('handler records', () => {
  const change = { category: 'change', initial: false, deleted: false, needsChange: false }
  const plain = {
    param: undefined,
    needsFinalizer: false,
    field: undefined,
    labels: undefined,
    annotations: undefined,
    value: undefined,
    old: undefined,
    new: undefined,
    when: undefined,
    errors: 'temporary',
    timeoutMs: undefined,
    retries: undefined,
    backoffMs: undefined,
  }

  test.each<[HandlerType, object, object]>([
    ['create', {}, { ...change, reasons: new Set(['create']) }],
    ['update', {}, { ...change, reasons: new Set(['update']), needsChange: true }],
    ['delete', {}, { ...change, reasons: new Set(['delete']), needsFinalizer: true }],
    ['delete', { optional: true }, { ...change, reasons: new Set(['delete']) }],
    ['resume', {}, { ...change, reasons: undefined, initial: true }],
    ['resume', { deleted: true }, { ...change, reasons: undefined, initial: true, deleted: true }],
    ['event', {}, { category: 'event', errors: 'ignored' }],
    ['startup', {}, { category: 'activity' }],
    ['create', { labels: {}, annotations: {} }, { ...change, reasons: new Set(['create']) }],
    [
      'create',
      { errors: 'permanent', timeout: '1h', retries: 0, backoff: 1.5, param: 5 },
      {
        ...change,
        reasons: new Set(['create']),
        errors: 'permanent',
        timeoutMs: 3_600_000,
        retries: 0,
        backoffMs: 1500,
        param: 5,
      },
    ],
  ])('the record of a "%s" handler with %j has the expected values', (kind, options, expected) => {
    const handler = createHandler(kind, 'kopfexamples', options, create_fn)
    const { fn, selector, observesGeneration: _, definition: __, info: ___, ...record } = handler
    expect(record).toEqual({ ...plain, ...expected, type: kind, id: 'create_fn' })
    expect(fn).toBe(create_fn)
    expect(selector === undefined).toBe(kind === 'startup')
  })

  const schedule = { intervalMs: undefined, sharp: false, idleMs: undefined }

  test.each<[object, object]>([
    [{ interval: 1.5 }, { schedule: { ...schedule, intervalMs: 1500 } }],
    [{ interval: '1m', sharp: true }, { schedule: { ...schedule, intervalMs: 60_000, sharp: true } }],
    [{ idle: '10s' }, { schedule: { ...schedule, idleMs: 10_000 } }],
    [{ idle: 0, interval: 1 }, { schedule: { ...schedule, idleMs: 0, intervalMs: 1000 } }],
    [
      { idle: 5, interval: 1, initialDelay: '1h' },
      { schedule: { ...schedule, idleMs: 5000, intervalMs: 1000 }, initialDelay: 3_600_000 },
    ],
  ])('the record of a timer with %j has the expected schedule', (options, expected) => {
    const handler = createHandler('timer', 'kopfexamples', options, create_fn)
    const cancellation = { backoffMs: undefined, timeoutMs: undefined, pollingMs: undefined }
    expect(handler.background).toEqual({ initialDelay: 0, cancellation, ...expected })
    expect(handler.needsFinalizer).toBe(true)
    expect(createHandler('timer', 'kopfexamples', { ...options, finalizer: false }, create_fn).needsFinalizer).toBe(
      false,
    )
  })

  test('the record of a handler keeps its filters as they were at registration', () => {
    const labels = { a: PRESENT, b: ABSENT, c: () => true, d: '' }
    const handler = createHandler('event', 'kopfexamples', { labels }, create_fn)
    const given = { ...labels }
    labels.d = 'changed'
    expect(handler.labels).toEqual(given)
  })

  test('the record of a sub-handler inherits only the requirement of a change', () => {
    const parent = createHandler('update', 'kopfexamples', { id: 'p', retries: 3, labels: { a: 'b' } }, anonymous)
    const subhandler = createSubhandler(parent, 'c', { old: 1, field: 'f' }, anonymous)
    const { fn: _, observesGeneration: __, definition, info, ...child } = subhandler
    expect([definition, info]).toEqual([parent.definition, parent.definition.types['subhandler']])
    expect(child).toEqual({
      ...plain,
      ...change,
      type: 'subhandler',
      id: 'p/c',
      selector: undefined,
      reasons: undefined,
      needsChange: true,
      field: ['f'],
      old: 1,
    })
  })
})

describe('refused handlers', () => {
  test.each<[HandlerType, unknown, RegExp]>([
    [
      'create',
      { retrys: 3 },
      /^Cannot register a "create" handler for kopfexamples: it has no option "retrys"; did you mean "retries"\?$/,
    ],
    ['create', { initial_delay: 3 }, /it has no option "initial_delay"; there are "id", "param"/],
    ['create', { old: 1, field: 'f' }, /it has no option "old"/],
    ['create', { optional: true }, /it has no option "optional"/],
    ['update', { deleted: true }, /^Cannot register an "update" handler.*it has no option "deleted"/],
    ['event', { errors: 'ignored' }, /it has no option "errors"/],
    ['startup', { labels: {} }, /^Cannot register a "startup" handler: it has no option "labels"/],
    ['create', 'id', /the options must be an object/],
    ['create', null, /the options must be an object/],
    ['create', [], /the options must be an object/],
    ['create', { id: '' }, /"id" must be a string that is not empty/],
    ['create', { id: 5 }, /"id" must be a string that is not empty/],
    ['create', { errors: 'retry' }, /"errors" must be one of "ignored", "temporary", "permanent"/],
    ['create', { retries: -1 }, /"retries" must be a whole number that is not negative/],
    ['create', { retries: 1.5 }, /"retries" must be a whole number/],
    ['create', { retries: null }, /"retries" must be a whole number/],
    ['create', { timeout: -1 }, /Cannot use -1 as the timeout of a "create" handler for kopfexamples/],
    ['create', { backoff: 'soon' }, /Cannot use "soon" as the backoff of/],
    ['create', { when: true }, /"when" must be a function/],
    ['create', { labels: 'a=b' }, /"labels" is an object/],
    ['create', { labels: { a: null } }, /"labels" has null for "a": expected a string, PRESENT, ABSENT, or a function/],
    ['create', { labels: { a: Symbol('x') } }, /"labels" has a value of type symbol for "a"/],
    ['create', { annotations: { a: 5 } }, /"annotations" has a value of type number for "a"/],
    ['create', { field: '' }, /"field" must be a path such as/],
    ['create', { field: 'a..b' }, /"field" must be a path such as/],
    ['create', { field: [] }, /"field" must be a path such as/],
    ['create', { field: ['a', 5] }, /"field" must be a path such as/],
    ['create', { value: 1 }, /"value" needs a "field"/],
    ['create', { value: null, field: 'f' }, /"value" cannot be null: use ABSENT/],
    ['update', { new: 1 }, /"new" needs a "field"/],
    ['update', { old: null, field: 'f' }, /"old" cannot be null/],
    ['update', { old: 1, value: 1, field: 'f' }, /"value" is for either of the old and the new value/],
    ['delete', { optional: 'yes' }, /"optional" is true or false/],
    ['resume', { deleted: 1 }, /"deleted" is true or false/],
  ])('a "%s" handler with the options %o is refused', (kind, options, message) => {
    expect(() => createHandler(kind, 'kopfexamples', options as object, create_fn)).toThrow(message)
  })

  const noSchedule =
    /^Cannot register a "timer" handler for kopfexamples: it needs an "interval", or "idle" to be called/

  test.each<[HandlerType, unknown, RegExp]>([
    ['timer', undefined, noSchedule],
    ['timer', {}, noSchedule],
    ['timer', { initialDelay: 5 }, noSchedule],
    ['timer', { interval: undefined }, noSchedule],
    ['timer', { interval: 0 }, /"interval" must be longer than 0: to run without a pause, use a daemon/],
    ['timer', { interval: '0s' }, /"interval" must be longer than 0/],
    ['timer', { interval: 0, idle: 5 }, /"interval" must be longer than 0/],
    [
      'timer',
      { idle: 0 },
      /without an "interval", "idle" must be longer than 0: to be called with each change, use on.event/,
    ],
    [
      'timer',
      { interval: -1 },
      /Cannot use -1 as the interval of a "timer" handler for kopfexamples: expected a number/,
    ],
    ['timer', { interval: Number.NaN }, /Cannot use NaN as the interval of/],
    ['timer', { interval: null }, /Cannot use null as the interval of/],
    ['timer', { interval: '10 seconds' }, /Cannot use "10 seconds" as the interval of.* such as "500ms", "10s"/],
    ['timer', { idle: -1 }, /Cannot use -1 as the idle of/],
    ['timer', { interval: 1, initialDelay: -1 }, /Cannot use -1 as the initialDelay of/],
    ['timer', { interval: 1, initialDelay: 'soon' }, /Cannot use "soon" as the initialDelay of/],
    ['timer', { interval: 1, backoff: -1 }, /Cannot use -1 as the backoff of/],
    ['timer', { idle: 1, sharp: true }, /"sharp" has no effect without an "interval": add one, or remove "sharp"/],
    ['timer', { interval: 1, sharp: 1 }, /"sharp" is true or false/],
    ['timer', { interval: 1, finalizer: 'no' }, /"finalizer" is true or false/],
    ['timer', { intervall: 1 }, /it has no option "intervall"; did you mean "interval"\?$/],
    ['timer', { initial_delay: 1, interval: 1 }, /it has no option "initial_delay"; did you mean "initialDelay"\?$/],
    ['timer', { interval: 1, Idle: 1 }, /it has no option "Idle"; did you mean "idle"\?$/],
    ['timer', { interval: 1, cancellationTimeout: 1 }, /it has no option "cancellationTimeout"/],
    ['timer', { interval: 1, old: 1, field: 'f' }, /it has no option "old"/],
    ['daemon', { interval: 1 }, /^Cannot register a "daemon" handler for kopfexamples: it has no option "interval"/],
    ['daemon', { idle: 1 }, /it has no option "idle"/],
    ['daemon', { cancellation_timeout: 1 }, /no option "cancellation_timeout"; did you mean "cancellationTimeout"\?$/],
    ['daemon', { cancellationBackoff: -1 }, /Cannot use -1 as the cancellationBackoff of/],
  ])('a "%s" handler with the conflicting options %o is refused', (kind, options, message) => {
    expect(() => createHandler(kind, 'kopfexamples', options as object, create_fn)).toThrow(message)
  })

  test.each([undefined, null, 'fn', {}])('the handler function %o is refused', (fn) => {
    expect(() => createHandler('create', 'kopfexamples', {}, fn)).toThrow(
      /the last argument must be the handler function/,
    )
  })

  test('a field handler with no field or with two fields is refused', () => {
    expect(() => createHandler('field', 'kopfexamples', {}, create_fn)).toThrow(/the field is missing/)
    expect(() => createHandler('field', 'kopfexamples', { field: 'b' }, create_fn, 'a')).toThrow(/no option "field"/)
  })

  test('a handler for an invalid resource is refused', () => {
    expect(() => createHandler('create', '', {}, create_fn)).toThrow()
    expect(() => createHandler('create', undefined, {}, create_fn)).toThrow()
  })

  const parentOf = (kind: HandlerType) => createHandler(kind, 'kopfexamples', { id: 'p' }, anonymous)

  test.each<[HandlerType, string | undefined, object, RegExp]>([
    ['event', 'c', {}, /^Cannot register a sub-handler of "p": only handlers of changes can have sub-handlers/],
    ['startup', 'c', {}, /only handlers of changes/],
    ['create', undefined, {}, /the function has no name: give it an id/],
    ['create', 'c', { id: 'd' }, /it has no option "id"/],
    ['create', 'c', { old: 1, field: 'f' }, /"old" and "new" are for sub-handlers of update and field handlers/],
    ['resume', 'c', { new: 1, field: 'f' }, /"old" and "new" are for sub-handlers/],
    ['update', 'c', { new: 1 }, /"new" needs a "field"/],
  ])('a sub-handler of a "%s" handler named %s with %j is refused', (kind, id, options, message) => {
    expect(() => createSubhandler(parentOf(kind), id, options, anonymous)).toThrow(message)
  })
})
