import { expect, test } from 'vitest'
import { ConcealedValue } from '../causation/concealed-value.ts'
import { createLiveView } from '../util/live-view.ts'
import { serializeArgs, serializeCloneable } from './serialize-args.ts'
import { deserializeArgs } from './thread/call.ts'

const remoteValues = { logger: 'l', patch: 'p', recorder: 'r', signal: 's', stopped: 'st', warnings: [] }

test('arguments of a worker handler are copied, proxied or missing by their type', () => {
  const body = Object.freeze({ spec: Object.freeze({ size: 2n ** 60n }) })
  const args = {
    body,
    spec: body.spec,
    started: new Date(0),
    logger: {},
    client: {},
    clock: {},
    execute: () => {},
    other: () => {},
  }
  const packed = serializeArgs(args)
  expect(packed).toEqual({
    values: { body, spec: body.spec, started: args.started },
    remote: ['logger'],
    missing: ['client', 'clock', 'execute', 'other'],
  })
  const there = deserializeArgs(structuredClone(packed), remoteValues) as typeof args
  expect(Object.keys(there)).toEqual(['body', 'spec', 'started', 'logger'])
  expect(there.spec).toBe(there.body.spec)
  expect(there.spec.size).toBe(2n ** 60n)
  expect(Object.isFrozen(there.spec)).toBe(true)
  expect(() => there.client).toThrow('Cannot use "client" in a worker')
})

test('live views in the arguments of a worker handler are copied in their current state', () => {
  let current = { spec: { size: 1 } }
  const packed = serializeArgs({
    body: createLiveView(
      () => current,
      (state) => state,
    ),
  })
  current = { spec: { size: 2 } }
  expect(structuredClone(packed).values).toEqual({ body: { spec: { size: 1 } } })
})

test('an argument that cannot be copied does not prevent the others from being copied', () => {
  const deep = { deeper: { fn: () => {} } }
  const args = { name: 'one', param: deep, memo: { calls: 1, deep, fn: () => {} } }
  expect(() => structuredClone(serializeArgs(args))).toThrow()
  const packed = serializeCloneable(args)
  expect(packed.values).toEqual({ name: 'one', memo: { calls: 1 } })
  expect(packed.missing).toEqual(['param', 'memo.deep', 'memo.fn'])
  const there = deserializeArgs(structuredClone(packed), remoteValues) as typeof args
  expect({ ...there.memo }).toEqual({ calls: 1 })
  expect(() => there.memo.deep).toThrow('Cannot use "memo.deep" in a worker: there is something in it')
  expect(() => there.param).toThrow('Cannot use "param" in a worker')
})

test('concealed values of a Secret are restored in the worker, in every argument', () => {
  const body = { apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { password: 'bmV3' } }
  const [one, other] = [ConcealedValue.of('b2xk'), ConcealedValue.of('b3RoZXI=')]
  const old = { data: { password: one, __proto__: null }, type: 'Opaque' }
  const diff = [
    ['change', ['data', 'password'], one, 'bmV3'],
    ['remove', ['data'], { other }, undefined],
    ['remove', [], { data: { other } }, undefined],
  ]
  const cross = (args: object) =>
    deserializeArgs(structuredClone(serializeArgs(args)), remoteValues) as Record<string, unknown>
  const there = cross({ body, old, diff }) as { old: typeof old; diff: unknown[][] }
  expect(there.old.data.password).toBeInstanceOf(ConcealedValue)
  expect(there.old.data.password.matches('b2xk')).toBe(true)
  expect(Object.isFrozen(there.old.data)).toBe(true)
  expect((there.diff[0]![2] as ConcealedValue).matches('b2xk')).toBe(true)
  expect((there.diff[1]![2] as { other: ConcealedValue }).other.matches('b3RoZXI=')).toBe(true)
  expect(there.diff[2]![2]).toHaveProperty('data.other', expect.any(ConcealedValue))
  // A field handler gets the value of the field.
  expect(cross({ body, old: one })['old']).toBeInstanceOf(ConcealedValue)
})
