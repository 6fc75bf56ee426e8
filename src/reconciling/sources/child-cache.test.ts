import { expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { reconcilerLabel } from '../children/labels.ts'
import { ChildCache } from './child-cache.ts'

function child(version: number, { uid = 'u', owner = 'parent', name = 'a', namespace = 'default' } = {}): KubeObject {
  const reference = { apiVersion: 'v1', kind: 'X', name: owner, uid: owner, controller: true }
  const labels = { [reconcilerLabel]: 'r' }
  const metadata = { name, namespace, uid, labels, resourceVersion: String(version), ownerReferences: [reference] }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata }
}

const parent = { owner: 'parent', label: 'r', namespace: 'default' }
const other = { owner: 'other', label: 'r', namespace: 'default' }

test('a child with an older or the same version changes nothing in the children index', () => {
  const cache = new ChildCache()
  expect(cache.put(child(9))).toEqual([parent])
  expect(cache.put(child(9))).toEqual([])
  expect(cache.put(child(8))).toEqual([])
  expect(cache.put(child(10))).toEqual([parent, parent])
  expect(cache.of(parent).map(({ metadata }) => metadata.resourceVersion)).toEqual(['10'])
})

test('a child that changes its owner affects both owners', () => {
  const cache = new ChildCache()
  cache.put(child(1))
  expect(cache.put(child(2, { owner: 'other' }))).toEqual([parent, other])
  expect([cache.of(parent), cache.of(other)].map(({ length }) => length)).toEqual([0, 1])
})

test('a deleted child does not return by an older state', () => {
  const cache = new ChildCache()
  cache.put(child(5))
  expect(cache.remove(child(5), { isDeleted: true })).toEqual([parent])
  expect(cache.put(child(6))).toEqual([])
  expect(cache.of(parent)).toEqual([])
})

test('a child that was filtered out can return later, and an outdated removal does not remove it again', () => {
  const cache = new ChildCache()
  cache.put(child(5))
  cache.remove(child(6))
  expect(cache.put(child(6))).toEqual([])
  expect(cache.put(child(7))).toEqual([parent])
  expect(cache.remove(child(6))).toEqual([])
  expect(cache.of(parent)).toHaveLength(1)
})

test('a child name belongs to the newest child with this name', () => {
  const cache = new ChildCache()
  cache.put(child(1, { uid: 'first' }))
  cache.put(child(2, { uid: 'second' }))
  cache.remove(child(1, { uid: 'first' }))
  expect(cache.named('default', 'a')?.metadata.uid).toBe('second')
})

test('an owner in a namespace has no children in other namespaces, even if their owner references name it', () => {
  const cache = new ChildCache()
  cache.put(child(1, { namespace: 'elsewhere' }))
  expect(cache.of(parent)).toEqual([])
  expect(cache.of({ ...parent, namespace: undefined })).toHaveLength(1)
})
