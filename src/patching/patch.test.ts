import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../kube/objects.ts'
import type { OpenObject } from '../kube/resources/resources.ts'
import { createPatch, mergeInto, type Patch, readPatch, takePatch, toPlainJson } from './patch.ts'

const read = (patch: Patch<OpenObject>) => readPatch(patch as unknown as Patch<never>)

describe('the patch of a handler', () => {
  test('the patch of a handler has all stanzas from the beginning', () => {
    const patch = createPatch<OpenObject>()
    patch.status['phase'] = 'Ready'
    patch.metadata.labels['a'] = 'b'
    patch['data']['key'] = null
    expect(read(patch).merge).toEqual({
      status: { phase: 'Ready' },
      metadata: { labels: { a: 'b' } },
      data: { key: null },
    })
  })

  test('the patch of a handler merges stanzas that are assigned as a whole', () => {
    const patch = createPatch<OpenObject>()
    patch.status['one'] = 1
    patch.status = { two: 2 }
    patch.metadata.annotations['x'] = 'y'
    patch.metadata = { labels: { a: 'b' }, annotations: {} }
    expect(read(patch).merge).toEqual({ status: { one: 1, two: 2 }, metadata: { labels: { a: 'b' } } })
  })

  test('the patch of a handler stays empty if it is only read', () => {
    const patch = createPatch<OpenObject>()
    expect([patch.spec['a'], patch.status['b'], patch.metadata.labels['c']]).toEqual([undefined, undefined, undefined])
    expect(patch.isEmpty).toBe(true)
    expect(read(patch)).toEqual({ merge: {}, fns: [] })
    patch.fns.push(() => {})
    expect(patch.isEmpty).toBe(false)
  })

  test('the patch of a handler can be awaited, printed and spread without a change', async () => {
    const patch = createPatch<OpenObject>()
    patch.spec['a'] = 1
    expect((await patch) as unknown).toBe(patch)
    expect(JSON.stringify(patch)).toBe('{"spec":{"a":1}}')
    expect({ ...patch }).toEqual({ spec: { a: 1 } })
    expect(read(patch).merge).toEqual({ spec: { a: 1 } })
  })

  test('the patch of a handler omits undefined, keeps null, and converts values with a JSON form', () => {
    const patch = createPatch<OpenObject>()
    patch.status = {
      gone: undefined,
      none: null,
      at: new Date(0),
      list: [undefined, 1],
      map: new Map([['a', 1]]),
      big: 2n ** 60n,
    }
    expect(read(patch).merge).toEqual({
      status: { none: null, at: '1970-01-01T00:00:00.000Z', list: [null, 1], map: { a: 1 }, big: 2n ** 60n },
    })
  })

  test('the patch of a handler takes __proto__ as a plain key', () => {
    const patch = createPatch<OpenObject>()
    patch.spec = JSON.parse('{"__proto__": {"polluted": true}}')
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(JSON.stringify(read(patch).merge)).toBe('{"spec":{"__proto__":{"polluted":true}}}')
  })
})

describe('plain JSON', () => {
  test.each([[Number.NaN], [Number.POSITIVE_INFINITY], [{ a: () => {} }], [{ a: Symbol('x') }]])(
    'the value %s cannot be converted to plain JSON',
    (value) => {
      expect(() => toPlainJson(value)).toThrow(/JSON cannot hold/)
    },
  )

  test('plain JSON cannot hold a circular value, but can hold a value twice', () => {
    const twice = { a: 1 }
    const itself: Record<string, unknown> = { twice, again: twice }
    expect(toPlainJson(itself)).toEqual({ twice: { a: 1 }, again: { a: 1 } })
    itself['self'] = itself
    expect(() => toPlainJson(itself)).toThrow(/contains itself/)
  })
})

test('the later of two merge patches wins field by field, and shares nothing with the earlier one', () => {
  const first = { spec: { a: 1, b: { c: 1 } } }
  const second = { spec: { b: { d: 2 }, a: null }, status: { x: 1 } }
  mergeInto(first as never, second as never)
  expect(first).toEqual({ spec: { a: null, b: { c: 1, d: 2 } }, status: { x: 1 } })
  second.status.x = 5
  expect((first as unknown as KubeObject)['status']).toEqual({ x: 1 })
})

test('a patch that is taken in parts gives each part once, and a field again if its value changes', () => {
  const patch = createPatch<OpenObject>()
  const take = () => takePatch(patch as unknown as Patch<never>)
  const edit = () => {}
  patch.status['phase'] = 'Starting'
  patch.status['nested'] = { kept: [1], deep: { a: 1 } }
  patch.fns.push(edit)
  expect(take()).toEqual({
    merge: { status: { phase: 'Starting', nested: { kept: [1], deep: { a: 1 } } } },
    fns: [edit],
  })
  expect(take()).toEqual({ merge: {}, fns: [] })
  patch.status['nested'] = { kept: [1], deep: { a: 1, b: null } }
  patch.spec = { size: 2 }
  const other = () => {}
  patch.fns.push(other)
  expect(take()).toEqual({ merge: { status: { nested: { deep: { b: null } } }, spec: { size: 2 } }, fns: [other] })
})
