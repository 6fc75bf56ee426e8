import { describe, expect, test } from 'vitest'
import { expectLinearGrowth } from '../../test/support/growth.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { deepFreeze } from '../util/json/deep-freeze.ts'
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
  visible.addPatch({ merge: {}, fns: [] }, counted)
  expect([visible.changed, visible.isInitial, visible.version]).toEqual([undefined, true, 0])
})

describe('version of the visible state', () => {
  test('the version of the visible state counts effective changes, but neither repeated values nor records', () => {
    const visible = visibleOf(bodyWith({ phase: 'Ready' }))
    visible.addPatch(merge({ phase: 'Ready', gone: null }), counted)
    visible.recordAttempt('a')
    expect(visible.version).toBe(0)
    expect(visible.changed?.metadata.annotations).toEqual({ a: 'ended' })
    visible.addPatch(merge({ phase: 'Failed' }), counted)
    expect(visible.version).toBe(1)
    visible.addPatch({ merge: {}, fns: [(body) => void Object.assign(body, { status: { phase: 'Failed' } })] }, counted)
    expect(visible.version).toBe(1)
    visible.addPatch({ merge: {}, fns: [(body) => void Object.assign(body, { status: {} })] }, counted)
    expect([visible.version, visible.changed?.['status']]).toEqual([2, {}])
  })

  test('the version of the visible state ignores uncounted changes, which are visible all the same', () => {
    const visible = visibleOf(bodyWith({}))
    visible.addPatch(merge({ phase: 'Ready' }), { isCounted: false })
    expect([visible.version, visible.changed?.['status']]).toEqual([0, { phase: 'Ready' }])
  })
})

test('a visible state that was read never changes', () => {
  const visible = visibleOf(bodyWith({ list: [1], kept: { a: 1 } }))
  visible.addPatch(merge({ list: [1, 2] }), counted)
  const first = visible.changed!
  visible.addPatch(merge({ list: [3], kept: { b: 2 } }), counted)
  expect(first['status']).toEqual({ list: [1, 2], kept: { a: 1 } })
  expect(visible.changed?.['status']).toEqual({ list: [3], kept: { a: 1, b: 2 } })
  expect(Object.isFrozen((visible.changed!['status'] as JsonObject)['kept'])).toBe(true)
})

test('the visible state follows the response of the server, with the changes made during the request', () => {
  const visible = visibleOf(bodyWith({}))
  visible.addPatch(merge({ phase: 'Wanted' }), counted)
  visible.beginWrite()
  visible.addPatch(merge({ later: 1 }), counted)
  visible.recordAttempt('b')
  visible.endWrite(bodyWith({ phase: 'Corrected' }))
  expect(visible.changed?.['status']).toEqual({ phase: 'Corrected', later: 1 })
  expect(visible.changed?.metadata.annotations).toEqual({ b: 'ended' })
  expect(visible.version).toBe(1)
})

test('the visible state read after each of n handlers costs linear time beyond a limit of copies', async () => {
  await expectLinearGrowth({
    n: 250,
    prepare: (n) => ({ n, visible: visibleOf(bodyWith({}), 50) }),
    run: ({ n, visible }) => {
      let copied = 0
      let last: KubeObject | undefined
      for (let index = 0; index < n; index += 1) {
        visible.addPatch(merge({ [`h${index}`]: index }), counted)
        visible.recordAttempt(`h${index}`)
        // Each visible state has a copied status, so the number of its entries is the cost of the copy.
        if (visible.changed !== last) copied += Object.keys(visible.changed!['status'] as object).length
        last = visible.changed
      }
      return copied
    },
  })
})
