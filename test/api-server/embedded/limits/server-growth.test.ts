/** Work of the server for n objects, counted in characters of JSON that it parses: at 4n it is 4 times as much, not 16 times. */
import { ApiServer } from 'kopf/server'
import { afterEach, expect, test } from 'vitest'
import { crd, crdsPath } from '../../../support/crds.ts'
import { expectLinearGrowth } from '../../../support/growth.ts'
import { ask, InProcessWatch } from '../../../support/in-process.ts'
import { configMap, namespace, object } from '../../../support/objects.ts'

const parse = JSON.parse
afterEach(() => {
  JSON.parse = parse
})

/** Characters that `JSON.parse` reads while this runs. */
async function parsedDuring(run: () => Promise<void>): Promise<number> {
  let characters = 0
  JSON.parse = (text: string, ...rest: [never?]) => {
    characters += text.length
    return parse(text, ...rest)
  }
  try {
    await run()
  } finally {
    JSON.parse = parse
  }
  return characters
}

const indices = (n: number) => Array.from({ length: n }, (_, index) => index)
const widget = (index: number) => ({ group: 'example.com', kind: `Widget${index}` })
const settle = () => new Promise((resolve) => setImmediate(resolve))

test('CRDs are created in time that grows with their number', async () => {
  await expectLinearGrowth({
    n: 10,
    maxRatio: 5,
    prepare: (n) => ({ api: new ApiServer(), n }),
    run: ({ api, n }) =>
      parsedDuring(async () => {
        for (const index of indices(n)) {
          expect((await ask(api, 'POST', crdsPath, { body: crd(widget(index)) })).status).toBe(201)
        }
      }),
  })
})

const held = 'example.com/held'
const release = { metadata: { finalizers: null } }

/** Removes the finalizers of all objects, one object after the other. */
async function letGo(api: ApiServer, path: string, n: number): Promise<void> {
  for (const index of indices(n)) {
    const { status } = await ask(api, 'PATCH', `${path}/held-${index}`, { body: release })
    expect(status).toBe(200)
    await settle()
  }
}

test('a namespace is emptied in time that grows with the number of its objects', async () => {
  await expectLinearGrowth({
    n: 10,
    maxRatio: 5,
    prepare: (n) => ({ api: new ApiServer(), n }),
    run: async ({ api, n }) => {
      const path = '/api/v1/namespaces/going/configmaps'
      await ask(api, 'POST', '/api/v1/namespaces', { body: namespace('going') })
      for (const index of indices(n)) {
        await ask(api, 'POST', path, { body: configMap({ name: `held-${index}`, finalizers: [held] }) })
      }
      await ask(api, 'DELETE', '/api/v1/namespaces/going')
      await settle()
      const { body } = await ask(api, 'GET', '/api/v1/namespaces/going')
      expect(JSON.stringify(body)).toContain(`configmaps. has ${n} resource instances`)
      expect(JSON.stringify(body)).toContain(`${held} in ${n} resource instances`)
      const characters = await parsedDuring(() => letGo(api, path, n))
      expect((await ask(api, 'GET', '/api/v1/namespaces/going')).status).toBe(404)
      return characters
    },
  })
})

test('an owner is deleted in the foreground in time that grows with the number of its dependents', async () => {
  await expectLinearGrowth({
    n: 10,
    maxRatio: 5,
    prepare: (n) => ({ api: new ApiServer(), n }),
    run: async ({ api, n }) => {
      const path = '/api/v1/namespaces/default/configmaps'
      const { body: owner } = await ask(api, 'POST', path, { body: configMap('owner') })
      const { uid } = owner['metadata'] as { uid: string }
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid, blockOwnerDeletion: true }]
      for (const index of indices(n)) {
        await ask(api, 'POST', path, {
          body: configMap({ name: `held-${index}`, finalizers: [held], ownerReferences }),
        })
      }
      await ask(api, 'DELETE', `${path}/owner?propagationPolicy=Foreground`)
      await settle()
      const characters = await parsedDuring(() => letGo(api, path, n))
      expect((await ask(api, 'GET', `${path}/owner`)).status).toBe(404)
      return characters
    },
  })
})

test('the objects of a CRD are deleted in time that grows with their number', async () => {
  await expectLinearGrowth({
    n: 10,
    maxRatio: 5,
    prepare: (n) => ({ api: new ApiServer(), n }),
    run: async ({ api, n }) => {
      const path = '/apis/example.com/v1/namespaces/default/things'
      await ask(api, 'POST', crdsPath, { body: crd({ group: 'example.com', kind: 'Thing' }) })
      for (const index of indices(n)) {
        const body = object('example.com/v1', 'Thing', { name: `held-${index}`, finalizers: [held] })
        expect((await ask(api, 'POST', path, { body })).status).toBe(201)
      }
      await ask(api, 'DELETE', `${crdsPath}/things.example.com`)
      await settle()
      const characters = await parsedDuring(() => letGo(api, path, n))
      expect((await ask(api, 'GET', `${crdsPath}/things.example.com`)).status).toBe(404)
      return characters
    },
  })
})

test('a change is parsed once for all watches with a field selector', async () => {
  await expectLinearGrowth({
    n: 5,
    maxRatio: 1.5,
    prepare: (n) => ({ api: new ApiServer(), n }),
    run: async ({ api, n }) => {
      const path = '/api/v1/namespaces/default/events'
      const selected = `${path}?resourceVersion=0&fieldSelector=reason=Tested`
      const involvedObject = { kind: 'Pod', namespace: 'default', name: 'web' }
      const watches = await Promise.all(indices(n).map(() => InProcessWatch.open(api, selected)))
      const characters = await parsedDuring(async () => {
        await ask(api, 'POST', path, { body: { metadata: { name: 'one' }, reason: 'Tested', involvedObject } })
      })
      for (const watch of watches) {
        expect(await watch.next()).toBe('ADDED one')
        await watch.leave()
      }
      await api.close()
      return characters
    },
  })
})
