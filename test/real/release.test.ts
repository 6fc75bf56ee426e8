/** `kopf release` on answers of a real API server, which are written by Go. */
import { expect, test } from 'vitest'
import { findHeld } from '../../src/cli/releasing.ts'
import { sessionOn } from '../client/targets.ts'
import { useLab } from '../support/lab.ts'
import { configMaps } from '../watching/support.ts'

const lab = useLab()

test('a kind without objects has none that are held by a finalizer', async () => {
  const [group, version, plural] = lab.widgets
  const resource = { ...configMaps, group, version, plural, kind: 'Widget' }
  const query = { resource, finalizer: 'kopf.zalando.org/KopfFinalizerMarker', namespace: lab.namespace }
  expect(await findHeld(sessionOn(lab.record()), query)).toEqual([])
  await lab.create('held', { metadata: { name: 'held', finalizers: [query.finalizer] } })
  expect((await findHeld(sessionOn(lab.record()), query)).map(({ name }) => name)).toEqual(['held'])
  await lab.patch('held', { metadata: { finalizers: null } })
  expect(await findHeld(sessionOn(lab.record()), query)).toEqual([])
})
