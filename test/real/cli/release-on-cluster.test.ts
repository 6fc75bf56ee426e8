/** `kopf release` with PartialObjectMetadata lists of a real API server. */
import { expect, test } from 'vitest'
import { findHeld } from '../../../src/cli/commands/release-objects.ts'
import { sessionOn } from '../../client/client-targets.ts'
import { useLab } from '../../support/lab.ts'
import { configMaps } from '../../watching/watching-support.ts'

const lab = useLab()

test('findHeld returns no objects for a kind without objects, and objects with the finalizer only', async () => {
  const [group, version, plural] = lab.widgets
  const resource = { ...configMaps, group, version, plural, kind: 'Widget' }
  const query = { resource, finalizer: 'kopf.zalando.org/KopfFinalizerMarker', namespace: lab.namespace }
  expect(await findHeld(sessionOn(lab.record()), query)).toEqual([])
  await lab.create('held', { metadata: { name: 'held', finalizers: [query.finalizer] } })
  expect((await findHeld(sessionOn(lab.record()), query)).map(({ name }) => name)).toEqual(['held'])
  await lab.patch('held', { metadata: { finalizers: null } })
  expect(await findHeld(sessionOn(lab.record()), query)).toEqual([])
})
