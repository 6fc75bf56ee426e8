/** `kopf server --data-dir`, stopped and started as a new process: the stored objects are served, and their rules are enforced. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer } from 'kopf/server'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import type { Tree } from '../../../support/answers.ts'
import type { Api } from '../../../support/api.ts'
import { crd, crdsPath, installCrd } from '../../../support/crds.ts'
import { expectStatus } from '../../../support/expectations.ts'
import { configMap, namespace, object } from '../../../support/objects.ts'
import { runScript } from '../../../support/scripts.ts'
import { ServerProcess } from '../../../support/server-process.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'kopf-restart-test-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const start = () => ServerProcess.start(inject('command'), dataDir)

/** Runs the server as a separate process, from its start to its stop. */
async function life<T>(live: (api: Api) => Promise<T>): Promise<T> {
  await using server = await start()
  return await live(server.api)
}

const widgets = '/apis/example.com/v1/namespaces/default/widgets'
const widget = (name: string, size: number) => object('example.com/v1', 'Widget', name, { spec: { size } })
const ruled = (rules: Tree) => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: { size: { type: 'integer' } }, ...rules } },
})
const positive = { 'x-kubernetes-validations': [{ rule: 'self.size > 0', message: 'the size must be positive' }] }

test('a CRD with a CEL rule is served again, and its rule is enforced', { timeout: 60_000 }, async () => {
  await life(async (api) => {
    await installCrd(api, crd({ group: 'example.com', kind: 'Widget', schema: ruled(positive) }))
    expectStatus(await api.post(widgets, widget('kept', 1)), 201)
  })
  await life(async (api) => {
    expectStatus(await api.get(`${widgets}/kept`), 200)
    expectStatus(await api.post(widgets, widget('allowed', 1)), 201)
    expect((await api.post(widgets, widget('refused', -1))).body['message']).toContain('the size must be positive')
  })
})

const hooks = '/apis/admissionregistration.k8s.io/v1'
const configuration = (kind: string) =>
  object('admissionregistration.k8s.io/v1', kind, 'conditional', {
    webhooks: [
      {
        name: 'conditional.example.com',
        clientConfig: { url: 'https://127.0.0.1:1/' },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        matchConditions: [{ name: 'reviewed', expression: "object.metadata.name.startsWith('reviewed-')" }],
      },
    ],
  })

test.each([
  ['mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'],
  ['validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'],
])('restored %s with match conditions call their webhooks only where the conditions hold', async (plural, kind) => {
  await life(async (api) => void expectStatus(await api.post(`${hooks}/${plural}`, configuration(kind)), 201))
  await life(async (api) => {
    const configMaps = '/api/v1/namespaces/default/configmaps'
    expectStatus(await api.post(configMaps, configMap('unreviewed')), 201)
    expect((await api.post(configMaps, configMap('reviewed-1'))).body['message']).toContain('conditional.example.com')
  })
})

interface Recorded {
  readonly resource: string
  readonly manifest: Tree & { readonly metadata: Tree }
  readonly created: Tree
}

/** The first manifest of each resource that the real API server accepts, from the recordings of the built-in kinds. */
function manifestsOfAllKinds(): Map<string, Recorded['manifest']> {
  const folder = new URL('../../../../src/server/builtins/testdata/', import.meta.url)
  const recorded = readdirSync(folder).flatMap((file) => {
    const text = readFileSync(new URL(file, folder), 'utf8')
    return JSON.parse(text.replace(/<(\d+) x>/g, (_, length) => 'x'.repeat(Number(length)))) as Recorded[]
  })
  const manifests = new Map<string, Recorded['manifest']>()
  for (const { resource, manifest, created } of recorded) {
    if (created['kind'] !== 'Status' && !manifests.has(resource)) manifests.set(resource, manifest)
  }
  // Webhook configurations are created last: their webhooks would be called for all later objects.
  const isWebhook = (resource: string) => resource.includes('webhookconfigurations')
  return new Map([...manifests].sort(([left], [right]) => Number(isWebhook(left)) - Number(isWebhook(right))))
}

/** The path of the collection, as discovery describes it. */
async function collectionPath(api: Api, resource: string): Promise<string> {
  const [plural = '', version = '', group] = resource.split('/').reverse()
  const root = group === undefined ? `/api/${version}` : `/apis/${group}/${version}`
  const { resources } = (await api.get(root)).body as unknown as {
    resources: Array<{ name: string; namespaced: boolean }>
  }
  const { namespaced } = resources.find(({ name }) => name === plural)!
  return namespaced ? `${root}/namespaces/recorded/${plural}` : `${root}/${plural}`
}

test('a restarted server serves objects of all built-in kinds unchanged', { timeout: 60_000 }, async () => {
  const manifests = manifestsOfAllKinds()
  const listAll = async (api: Api) => {
    const lists: Record<string, unknown> = {}
    for (const resource of manifests.keys()) {
      lists[resource] = expectStatus(await api.get(await collectionPath(api, resource)), 200).items
    }
    return lists
  }
  const before = await life(async (api) => {
    expectStatus(await api.post('/api/v1/namespaces', namespace('recorded')), 201)
    for (const [resource, manifest] of manifests) {
      expectStatus(await api.post(await collectionPath(api, resource), manifest), 201)
    }
    return listAll(api)
  })
  await life(async (api) => expect(await listAll(api)).toEqual(before))
})

test('a CEL rule whose key is written with an escape is accepted as the first one of a process', async () => {
  const text = JSON.stringify(crd({ group: 'example.com', kind: 'Widget', schema: ruled(positive) }))
  const body = text.replace('x-kubernetes-validations', 'x-kubernetes-validation\\u0073')
  const source = `
    import { ApiServer } from 'kopf/server'
    const body = process.argv[1]
    const { status } = await new ApiServer().send({ method: 'POST', path: '${crdsPath}', body })
    console.log(status)`
  expect(await runScript(source, { args: [body] })).toBe('201\n')
})

test('a data directory is unlocked when ApiServer.open rejects', async () => {
  const controllers = ['no-such-controller'] as never
  await expect(ApiServer.open({ dataDir, controllers })).rejects.toThrow('no-such-controller')
  await (await ApiServer.open({ dataDir })).close()
})
