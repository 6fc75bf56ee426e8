/** Which states replace the known one, and which are reported as stale. */
import { expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { ObservedState, type StateSource } from './observed-state.ts'

const timing = { nowMs: 0, consistencyMs: 5000 }

function at(resourceVersion: string): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', uid: 'u', resourceVersion } }
}

test.each<[StateSource, string, string, string]>([
  ['watch', '10', 'known', '10'],
  ['watch', '9', 'stale', '10'],
  ['watch', '11', 'new', '11'],
  ['read', '10', 'known', '10'],
  ['read', '9', 'stale', '10'],
  ['read', '11', 'new', '11'],
  ['write', '9', 'stale', '10'],
  ['write', '11', 'new', '11'],
])('a state from a %s with the version %s is %s if the known version is 10', (from, version, acceptance, kept) => {
  const state = new ObservedState(at('10'))
  expect(state.accept(at(version), from, timing)).toBe(acceptance)
  expect(state.version).toBe(kept)
})

test('the event of the first of two writes is stale when it arrives after the response to the second one', () => {
  const state = new ObservedState(at('10'))
  state.accept(at('11'), 'write', timing)
  state.accept(at('12'), 'write', timing)
  expect(state.accept(at('11'), 'watch', timing)).toBe('stale')
  expect(state.accept(at('12'), 'watch', timing)).toBe('known')
})
