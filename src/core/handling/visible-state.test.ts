import { describe, expect, test } from 'vitest'
import { expectLinearGrowth } from '../../../test/support/growth.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { deepFreeze } from '../../util/frozen.ts'
import { VisibleState } from './visible-state.ts'

function bodyWith(status: JsonObject): KubeObject {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, status } as unknown as KubeObject
}

function visibleOf(body: KubeObject, exactAttempts?: number): VisibleState {
  deepFreeze(body)
  const storeRecord = (id: string, patch: JsonObject) => {
    patch['metadata'] = {
      annotations: { ...(patch['metadata'] as { annotations?: object })?.annotations, [id]: 'ended' },
    }
  }
  return new VisibleState({ initial: () => body, storeRecord, ...(exactAttempts && { exactAttempts }) })
}

const counted = { isCounted: true }
const merge = (status: JsonObject) => ({ merge: { status }, fns: [] })

test('an object that no handler has changed is not copied', () => {
  const visible = visibleOf(bodyWith({}))
  visible.noteWish({ merge: {}, fns: [] }, counted)
  expect([visible.changed, visible.isInitial, visible.version]).toEqual([undefined, true, 0])
})

describe('the version', () => {
  test('is that of real changes: neither what is there already nor records count', () => {
    const visible = visibleOf(bodyWith({ phase: 'Ready' }))
    visible.noteWish(merge({ phase: 'Ready', gone: null }), counted)
    visible.noteEnd('a')
    expect(visible.version).toBe(0)
    expect(visible.changed?.metadata.annotations).toEqual({ a: 'ended' })
    visible.noteWish(merge({ phase: 'Failed' }), counted)
    expect(visible.version).toBe(1)
    visible.noteWish({ merge: {}, fns: [(body) => void Object.assign(body, { status: { phase: 'Failed' } })] }, counted)
    expect(visible.version).toBe(1)
    visible.noteWish({ merge: {}, fns: [(body) => void Object.assign(body, { status: {} })] }, counted)
    expect([visible.version, visible.changed?.['status']]).toEqual([2, {}])
  })

  test('does not count changes that are not to be counted, which are seen all the same', () => {
    const visible = visibleOf(bodyWith({}))
    visible.noteWish(merge({ phase: 'Ready' }), { isCounted: false })
    expect([visible.version, visible.changed?.['status']]).toEqual([0, { phase: 'Ready' }])
  })
})

test('a state that was read does not change any more', () => {
  const visible = visibleOf(bodyWith({ list: [1], kept: { a: 1 } }))
  visible.noteWish(merge({ list: [1, 2] }), counted)
  const first = visible.changed!
  visible.noteWish(merge({ list: [3], kept: { b: 2 } }), counted)
  expect(first['status']).toEqual({ list: [1, 2], kept: { a: 1 } })
  expect(visible.changed?.['status']).toEqual({ list: [3], kept: { a: 1, b: 2 } })
  expect(Object.isFrozen((visible.changed!['status'] as JsonObject)['kept'])).toBe(true)
})

test("the server's answer counts from then on, with what came while it was on its way", () => {
  const visible = visibleOf(bodyWith({}))
  visible.noteWish(merge({ phase: 'Wanted' }), counted)
  visible.noteWrite()
  visible.noteWish(merge({ later: 1 }), counted)
  visible.noteEnd('b')
  visible.noteAnswer(bodyWith({ phase: 'Corrected' }))
  expect(visible.changed?.['status']).toEqual({ phase: 'Corrected', later: 1 })
  expect(visible.changed?.metadata.annotations).toEqual({ b: 'ended' })
  expect(visible.version).toBe(1)
})

test('a handler that reads the state after each of n others costs time in proportion to n, when n is beyond a limit', async () => {
  await expectLinearGrowth({
    n: 250,
    prepare: (n) => ({ n, visible: visibleOf(bodyWith({}), 50) }),
    run: ({ n, visible }) => {
      let copied = 0
      let last: KubeObject | undefined
      for (let index = 0; index < n; index += 1) {
        visible.noteWish(merge({ [`h${index}`]: index }), counted)
        visible.noteEnd(`h${index}`)
        // Each state has a status of its own: its entries are what was copied.
        if (visible.changed !== last) copied += Object.keys(visible.changed!['status'] as object).length
        last = visible.changed
      }
      return copied
    },
  })
})
