/** Objects that were stored in a former storage version: every version of the CRD shows them in its own apiVersion. */
import { ApiServer } from 'kopf/server'
import { expect, test } from 'vitest'
import { anything, crd, crdsPath } from '../../../support/crds.ts'
import { ask } from '../../../support/in-process.ts'
import { object } from '../../../support/objects.ts'

const versions = (stored: string) =>
  ['v1', 'v2'].map((name) => ({ name, served: true, storage: name === stored, schema: { openAPIV3Schema: anything } }))

test('an object is shown in the requested version whatever its stored version is', async () => {
  const api = new ApiServer()
  const definition = crd({ group: 'example.com', kind: 'Widget', versions: versions('v1') })
  await ask(api, 'POST', crdsPath, { body: definition })
  const path = (version: string) => `/apis/example.com/${version}/namespaces/default/widgets`
  const body = object('example.com/v1', 'Widget', { name: 'old', finalizers: ['example.com/held'] })
  expect((await ask(api, 'POST', path('v1'), { body })).status).toBe(201)
  const patch = { spec: { versions: versions('v2') } }
  expect((await ask(api, 'PATCH', `${crdsPath}/widgets.example.com`, { body: patch })).status).toBe(200)
  const shown = async () => {
    const replies = await Promise.all(['v1', 'v2'].map((version) => ask(api, 'GET', `${path(version)}/old`)))
    return replies.map((reply) => reply.body['apiVersion'])
  }
  expect(await shown()).toEqual(['example.com/v1', 'example.com/v2'])
  // The deletion writes the object again, in the new storage version.
  expect((await ask(api, 'DELETE', `${path('v2')}/old`)).status).toBe(200)
  expect(await shown()).toEqual(['example.com/v1', 'example.com/v2'])
  expect(await shown()).toEqual(['example.com/v1', 'example.com/v2'])
})
