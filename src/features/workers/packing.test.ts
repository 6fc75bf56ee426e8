import { expect, test } from 'vitest'
import { ConcealedValue } from '../../core/causation/concealed-value.ts'
import { createLiveView } from '../../util/live.ts'
import { packArgs, packCarefully } from './packing.ts'
import { unpackArgs } from './thread-args.ts'

const standIns = { logger: 'l', patch: 'p', recorder: 'r', signal: 's', stopped: 'st', warnings: [] }

test('data crosses, what speaks has a stand-in, the rest stays', () => {
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
  const packed = packArgs(args)
  expect(packed).toEqual({
    values: { body, spec: body.spec, started: args.started },
    standIns: ['logger'],
    missing: ['client', 'clock', 'execute', 'other'],
  })
  const there = unpackArgs(structuredClone(packed), standIns) as typeof args
  expect(Object.keys(there)).toEqual(['body', 'spec', 'started', 'logger'])
  expect(there.spec).toBe(there.body.spec)
  expect(there.spec.size).toBe(2n ** 60n)
  expect(Object.isFrozen(there.spec)).toBe(true)
  expect(() => there.client).toThrow('Cannot use "client" in a worker')
})

test('live views become the state of the moment', () => {
  let current = { spec: { size: 1 } }
  const packed = packArgs({
    body: createLiveView(
      () => current,
      (state) => state,
    ),
  })
  current = { spec: { size: 2 } }
  expect(structuredClone(packed).values).toEqual({ body: { spec: { size: 1 } } })
})

test('one thing that cannot be copied does not keep the others from crossing', () => {
  const deep = { deeper: { fn: () => {} } }
  const args = { name: 'one', param: deep, memo: { calls: 1, deep, fn: () => {} } }
  expect(() => structuredClone(packArgs(args))).toThrow()
  const packed = packCarefully(args)
  expect(packed.values).toEqual({ name: 'one', memo: { calls: 1 } })
  expect(packed.missing).toEqual(['param', 'memo.deep', 'memo.fn'])
  const there = unpackArgs(structuredClone(packed), standIns) as typeof args
  expect({ ...there.memo }).toEqual({ calls: 1 })
  expect(() => there.memo.deep).toThrow('Cannot use "memo.deep" in a worker: there is something in it')
  expect(() => there.param).toThrow('Cannot use "param" in a worker')
})

test('the concealed values of a Secret are made again on the other side, wherever a handler gets them', () => {
  const body = { apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { password: 'bmV3' } }
  const [one, other] = [ConcealedValue.of('b2xk'), ConcealedValue.of('b3RoZXI=')]
  const old = { data: { password: one, __proto__: null }, type: 'Opaque' }
  const diff = [
    ['change', ['data', 'password'], one, 'bmV3'],
    ['remove', ['data'], { other }, undefined],
    ['remove', [], { data: { other } }, undefined],
  ]
  const cross = (args: object) => unpackArgs(structuredClone(packArgs(args)), standIns) as Record<string, unknown>
  const there = cross({ body, old, diff }) as { old: typeof old; diff: unknown[][] }
  expect(there.old.data.password).toBeInstanceOf(ConcealedValue)
  expect(there.old.data.password.matches('b2xk')).toBe(true)
  expect(Object.isFrozen(there.old.data)).toBe(true)
  expect((there.diff[0]![2] as ConcealedValue).matches('b2xk')).toBe(true)
  expect((there.diff[1]![2] as { other: ConcealedValue }).other.matches('b3RoZXI=')).toBe(true)
  expect(there.diff[2]![2]).toHaveProperty('data.other', expect.any(ConcealedValue))
  // A handler of one field gets the value itself.
  expect(cross({ body, old: one })['old']).toBeInstanceOf(ConcealedValue)
})
