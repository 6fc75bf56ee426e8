import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { annotationsOf, progressOf, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

/** The ids under which results are stored in the status. */
async function resultIds(name: string): Promise<string[]> {
  await lab.create(name, { spec: { size: 1 } })
  const { status } = await untilHandled(lab, name)
  return Object.keys(status as object).sort()
}

test('a handler id is the given id, the function name, or the handler type, followed by the field', async () => {
  const kopf = new Operator()
  function create_fn() {
    return 1
  }
  kopf.on.create(lab.widgets, create_fn)
  kopf.on.create(lab.widgets, { id: 'said' }, function named() {
    return 1
  })
  kopf.on.create(lab.widgets, () => 1)
  kopf.on.create(lab.widgets, { field: 'spec.size' }, create_fn)
  kopf.on.create(lab.widgets, { id: 'said', field: 'spec.size' }, () => 1)
  kopf.on.field(lab.widgets, 'spec.size', () => 1)
  await lab.start(kopf)
  expect(await resultIds('one')).toEqual([
    'create',
    'create_fn',
    'create_fn/spec.size',
    'field/spec.size',
    'said',
    'said/spec.size',
  ])
})

test('a progress record is stored under the handler id, with dots in place of slashes', async () => {
  const kopf = new Operator()
  kopf.on.field(lab.widgets, 'spec.size', { id: 'resize' }, () => {
    throw new TemporaryError('later', { delay: 30 })
  })
  await lab.start(kopf)
  await lab.create('kept', { spec: { size: 1 } })
  const body = await lab.untilObject('kept', ({ metadata }) => metadata.annotations !== undefined)
  expect(Object.keys(annotationsOf(body))).toEqual(['kopf.zalando.org/resize.spec.size'])
})

test('a function registered twice under one id is called once', async () => {
  const kopf = new Operator()
  const calls: unknown[] = []
  const fn = ({ param }: { readonly param: unknown }) => void calls.push(param)
  kopf.on.create(lab.widgets, { id: 'fn', param: 1 }, fn)
  kopf.on.create(lab.widgets, { id: 'fn', param: 2 }, fn)
  await lab.start(kopf)
  await lab.create('twice', { spec: {} })
  await untilHandled(lab, 'twice')
  expect(calls).toEqual([1])
})

test('a function registered under two ids is called twice, each with its own param', async () => {
  const kopf = new Operator()
  const calls: unknown[] = []
  const param = { shared: true }
  const fn = (args: { readonly param: unknown }) => void calls.push(args.param)
  kopf.on.create(lab.widgets, { id: 'a', param }, fn)
  kopf.on.create(lab.widgets, { id: 'b', param: 'b' }, fn)
  kopf.on.create(lab.widgets, { id: 'c' }, fn)
  await lab.start(kopf)
  await lab.create('params', { spec: {} })
  await untilHandled(lab, 'params')
  expect(calls).toEqual([param, 'b', undefined])
  expect(calls[0]).toBe(param)
})

test('registering two functions under one id is refused with a hint', () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'same' }, () => 1)
  expect(() => kopf.on.create(lab.widgets, { id: 'same' }, () => 2)).toThrow(/"same".*id/s)
})

test('registering two anonymous functions of one type is refused, since both get the same id', () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, () => 1)
  expect(() => kopf.on.create(lab.widgets, () => 2)).toThrow(/id/)
})

test('a long handler id is cut and hashed in annotations like in Kopf', async () => {
  const kopf = new Operator()
  const id = 'very_long_handler_name_to_exceed_the_limit_of_63_chars_for_annotations/spec.field.subfield'
  kopf.on.create(lab.widgets, { id }, () => {
    throw new TemporaryError('later', { delay: 30 })
  })
  await lab.start(kopf)
  await lab.create('long', { spec: {} })
  const body = await lab.untilObject('long', ({ metadata }) => metadata.annotations !== undefined)
  expect(Object.keys(annotationsOf(body)).sort()).toEqual([
    'kopf.zalando.org/very_long_handler_name_to_exceed_the_li-yd1wNA',
    'kopf.zalando.org/very_long_handler_name_to_exceed_the_limit_of_63_chars_f-hW.a.w',
  ])
  expect(progressOf(body, 'very_long_handler_name_to_exceed_the_li-yd1wNA')).toMatchObject({ retries: 1 })
})
