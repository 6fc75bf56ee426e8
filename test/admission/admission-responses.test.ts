import { AdmissionError, Operator, PermanentError, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import type { Json } from '../../src/util/json/json.ts'
import type { Tree } from '../support/answers.ts'
import { applyJsonPatch } from '../support/json-patch.ts'
import { useLab } from '../support/lab.ts'
import { Door, editsOf, widget } from './admission-support.ts'

const lab = useLab()

// biome-ignore lint/suspicious/noExplicitAny: handlers of any shape, as tables hold them.
type AnyHandler = (args: any) => unknown

async function startWith(...handlers: AnyHandler[]): Promise<Door> {
  const kopf = new Operator()
  handlers.forEach((handler, index) => void kopf.on.mutate(lab.widgets, { id: `handler-${index}` }, handler))
  const door = new Door(lab, kopf)
  await lab.start(kopf)
  return door
}

function throwing(error: unknown): AnyHandler {
  return () => {
    throw error
  }
}

describe('refusals', () => {
  test.each([
    ['an AdmissionError', new AdmissionError('too small'), { code: 500, message: 'too small' }],
    [
      'an AdmissionError with a status',
      new AdmissionError('no such size', { status: 422 }),
      { code: 422, message: 'no such size' },
    ],
    [
      'an AdmissionError with a status that is not an error',
      new AdmissionError('odd', { status: 200 }),
      { code: 500, message: 'odd' },
    ],
    ['a PermanentError', new PermanentError('never'), { code: 500, message: 'never' }],
    ['a TemporaryError', new TemporaryError('not now'), { code: 500, message: 'not now' }],
    ['any other error', new RangeError('boom'), { code: 500, message: 'boom' }],
    ['an error without a message', new RangeError(), { code: 500, message: 'RangeError()' }],
    ['a text', 'just text', { code: 500, message: 'just text' }],
    ['undefined', undefined, { code: 500, message: 'undefined' }],
  ])('an admission request is refused if a handler throws %s', async (_name, error, status) => {
    const door = await startWith(throwing(error))
    expect(await door.ask()).toEqual({ uid: 'review-uid', allowed: false, status })
  })

  test('an admission request is refused if one of several handlers fails, with the warnings and patches of the others', async () => {
    const door = await startWith(
      ({ warnings, patch }) => {
        warnings.push('mind the gap')
        patch.spec.colour = 'red'
      },
      async () => {
        throw new AdmissionError('no', { status: 403 })
      },
    )
    const answer = await door.ask()
    expect(answer).toMatchObject({ allowed: false, warnings: ['mind the gap'], status: { code: 403, message: 'no' } })
    expect(editsOf(answer)).toEqual([{ op: 'add', path: '/spec/colour', value: 'red' }])
  })

  test.each([
    [['other', 'temporary', 'permanent', 'admission'], 'admission'],
    [['other', 'temporary', 'permanent'], 'permanent'],
    [['other', 'temporary'], 'temporary'],
    [['other', 'another'], 'other'],
    [['admission', 'permanent'], 'admission'],
  ])('the errors %j refuse an admission request with the most specific one', async (kinds, told) => {
    const errors: Readonly<Record<string, Error>> = {
      admission: new AdmissionError('admission', { status: 418 }),
      permanent: new PermanentError('permanent'),
      temporary: new TemporaryError('temporary'),
      other: new Error('other'),
      another: new Error('another'),
    }
    const door = await startWith(...kinds.map((kind) => throwing(errors[kind])))
    const { status } = await door.ask()
    expect(status).toEqual({ message: told, code: told === 'admission' ? 418 : 500 })
  })
})

test('warnings are returned in their order, with values that are not texts converted', async () => {
  const values = ['one', 2, null, undefined, { a: 1 }, new Error('an error'), ['list'], 12n, Symbol('s')]
  const door = await startWith(({ warnings }) => void warnings.push(...values))
  const { allowed, warnings } = await door.ask()
  expect(allowed).toBe(true)
  expect(warnings).toHaveLength(values.length)
  expect(warnings!.every((warning) => typeof warning === 'string')).toBe(true)
  expect(warnings!.slice(0, 4)).toEqual(['one', '2', 'null', 'undefined'])
  expect(warnings![5]).toBe('an error')
})

describe('patches', () => {
  const object = {
    spec: { size: 1, list: [1, 2], deep: { a: { b: 1, c: 2 } }, nothing: null },
    metadata: { labels: { app: 'web' }, annotations: { 'example.com/a~b': 'x' } },
  }

  test.each<[string, AnyHandler, readonly Tree[]]>([
    ['nothing for an empty patch', () => {}, []],
    ['nothing for stanzas that were only read', ({ patch }) => void patch.spec.size, []],
    ['nothing for an unchanged value', ({ patch }) => (patch.spec.size = 1), []],
    ['nothing for an equal list', ({ patch }) => (patch.spec.list = [1, 2]), []],
    ['nothing for a null of a missing field', ({ patch }) => (patch.spec.missing = null), []],
    ['nothing for a null in a missing stanza', ({ patch }) => (patch.status.phase = null), []],
    ['nothing for nulls deep in a missing field', ({ patch }) => (patch.spec.new = { a: { b: null } }), []],
    [
      'only the other fields of a stanza with nulls',
      ({ patch }) => (patch.spec.new = { a: { b: null }, c: { d: null, e: 1 } }),
      [{ op: 'add', path: '/spec/new', value: { c: { e: 1 } } }],
    ],
    [
      'an empty object for an empty object',
      ({ patch }) => (patch.spec.emptyDir = {}),
      [{ op: 'add', path: '/spec/emptyDir', value: {} }],
    ],
    ['a replaced value', ({ patch }) => (patch.spec.size = 2), [{ op: 'replace', path: '/spec/size', value: 2 }]],
    ['an added field', ({ patch }) => (patch.spec.colour = ''), [{ op: 'add', path: '/spec/colour', value: '' }]],
    ['a removed field', ({ patch }) => (patch.spec.list = null), [{ op: 'remove', path: '/spec/list' }]],
    ['a removed null', ({ patch }) => (patch.spec.nothing = null), [{ op: 'remove', path: '/spec/nothing' }]],
    [
      'a list replaced as a whole',
      ({ patch }) => (patch.spec.list = [2, 1]),
      [{ op: 'replace', path: '/spec/list', value: [2, 1] }],
    ],
    [
      'only the difference deep in an object',
      ({ patch }) => (patch.spec.deep = { a: { b: 2, c: 2 } }),
      [{ op: 'replace', path: '/spec/deep/a/b', value: 2 }],
    ],
    [
      'escaped keys for slashes and tildes',
      ({ patch }) => {
        patch.metadata.annotations['example.com/a~b'] = 'y'
        patch.metadata.annotations['~1/~0'] = 'z'
      },
      [
        { op: 'replace', path: '/metadata/annotations/example.com~1a~0b', value: 'y' },
        { op: 'add', path: '/metadata/annotations/~01~1~00', value: 'z' },
      ],
    ],
    [
      'a whole stanza if it was missing',
      ({ patch }) => (patch.status.phase = 'New'),
      [{ op: 'add', path: '/status', value: { phase: 'New' } }],
    ],
    [
      'keys such as __proto__ and constructor',
      ({ patch }) => {
        patch.spec = JSON.parse('{"__proto__": {"polluted": true}, "constructor": "c", "toString": null}')
      },
      [
        { op: 'add', path: '/spec/__proto__', value: { polluted: true } },
        { op: 'add', path: '/spec/constructor', value: 'c' },
      ],
    ],
    [
      'the changes of functions after the other changes',
      ({ patch }) => {
        patch.fns.push((body: { spec: { list: number[]; size: number } }) => void body.spec.list.push(body.spec.size))
        patch.spec.size = 3
      },
      [
        { op: 'replace', path: '/spec/list', value: [1, 2, 3] },
        { op: 'replace', path: '/spec/size', value: 3 },
      ],
    ],
    ['nothing for a function without changes', ({ patch }) => void patch.fns.push(() => {}), []],
  ])('the admission response patch has %s', async (_name, handler, edits) => {
    const door = await startWith(handler)
    const answer = await door.ask({ object: widget(lab, object) })
    expect(answer.allowed).toBe(true)
    expect(answer.patchType).toBe(edits.length === 0 ? undefined : 'JSONPatch')
    const byPath = (a: Tree, b: Tree) => String(a['path']).localeCompare(String(b['path']))
    expect(editsOf(answer).toSorted(byPath)).toEqual(edits.toSorted(byPath))
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('the admission response patch merges the patches of all handlers, and later handlers win', async () => {
    const door = await startWith(
      async ({ patch }) => {
        await Promise.resolve()
        patch.spec.size = 2
        patch.spec.first = true
      },
      ({ patch }) => {
        patch.spec.size = 3
        patch.fns.push((body: { spec: { size: number } }) => {
          body.spec.size += 1
        })
      },
    )
    expect(editsOf(await door.ask({ object: widget(lab, object) }))).toEqual([
      { op: 'add', path: '/spec/first', value: true },
      { op: 'replace', path: '/spec/size', value: 4 },
    ])
  })

  test('the admission response patch can be applied by the API server', async () => {
    const door = await startWith(({ patch }) => {
      patch.metadata.labels.added = 'yes'
      patch.spec.deep = { a: null, 'x/y~z': [{}] }
      patch.fns.push((body: { spec: { list: number[] } }) => void body.spec.list.reverse())
    })
    const before = widget(lab, object)
    const after = applyJsonPatch(before as Json, editsOf(await door.ask({ object: before })) as never)
    expect(after).toEqual(
      widget(lab, {
        metadata: { ...object.metadata, labels: { app: 'web', added: 'yes' } },
        spec: { size: 1, list: [2, 1], deep: { 'x/y~z': [{}] }, nothing: null },
      }),
    )
  })

  test.each<[string, AnyHandler, RegExp]>([
    [
      'a function that throws',
      ({ patch }) =>
        void patch.fns.push(() => {
          throw new Error('in the patch')
        }),
      /^Cannot edit the object with a function in the patch of handler "handler-0": in the patch$/,
    ],
    ['an async function', ({ patch }) => void patch.fns.push(async () => {}), /it is async/],
    [
      'a value that is not JSON',
      ({ patch }) => (patch.spec.size = Number.NaN),
      /^Cannot write the patch of handler "handler-0": JSON cannot hold the number NaN$/,
    ],
  ])('an admission request is refused and logged if the patch has %s', async (_name, handler, message) => {
    const door = await startWith(handler)
    const { allowed, status, patch } = await door.ask()
    expect({ allowed, patch }).toEqual({ allowed: false, patch: undefined })
    expect(status!.message).toMatch(message)
    expect(lab.logs.some((line) => line.includes(status!.message))).toBe(true)
  })

  test('the admission response patch ignores the return values of handlers', async () => {
    const loop: { self?: object } = {}
    loop.self = loop
    const door = await startWith(
      () => ({ spec: { size: 9 } }),
      () => loop,
      () => () => {},
    )
    expect(await door.ask()).toEqual({ uid: 'review-uid', allowed: true })
  })

  test('the admission response patch is left out if it is of a validating handler', async () => {
    const kopf = new Operator()
    kopf.on.validate(lab.widgets, { id: 'check' }, ({ patch }) => {
      patch.spec['size'] = 2
      patch.fns.push(() => {})
    })
    kopf.on.validate(lab.widgets, { id: 'refuse' }, ({ patch }) => {
      patch.spec['size'] = 2
      throw new AdmissionError('no')
    })
    kopf.on.mutate(lab.widgets, { id: 'change' }, ({ patch }) => {
      patch.spec['colour'] = 'red'
    })
    const door = new Door(lab, kopf)
    await lab.start(kopf)
    expect(await door.ask({}, { webhook: 'check' })).toEqual({ uid: 'review-uid', allowed: true })
    expect(lab.logs).toContain(
      `[${lab.namespace}/one] The patch of the validating handler 'check' is ignored: use on.mutate.`,
    )
    expect(await door.ask({}, { webhook: 'refuse' })).toMatchObject({ allowed: false, status: { message: 'no' } })
    expect(editsOf(await door.ask({}, { webhook: 'refuse' }))).toEqual([])
    expect(editsOf(await door.ask())).toEqual([{ op: 'add', path: '/spec/colour', value: 'red' }])
  })
})
