/** Faults between a reconciler and its children: no request is repeated without need, and refused requests are repeated less and less often. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import { cutBy, gate, refusal } from '../support/recording.ts'
import { configMap, useReconcilingLab } from './reconciling-support.ts'

const { lab, reconciling } = useReconcilingLab()

function reconciler(calls: string[] = []): Operator {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, ({ name, spec }) => {
    calls.push(name)
    return { children: (spec['children'] ?? ['a']).map((child: string) => configMap(`${name}-${child}`)) }
  })
  return kopf
}

test('a child that was just written is known before the watch reports it', async () => {
  const transport = lab.record()
  const silence = gate()
  const calls: string[] = []
  transport.meddle = async ({ path, query }, send) => {
    const response = await send()
    if (path !== reconciling.path() || query.get('watch') !== 'true') return response
    // The watch delivers the initial list and no later events.
    const isListing = (chunk: Uint8Array) => !Buffer.from(chunk).toString().includes('kopf.dev/wanted')
    const body = (async function* () {
      for await (const chunk of cutBy(response.body, silence.opened)) if (isListing(chunk)) yield chunk
    })()
    return { ...response, body }
  }
  await lab.start(reconciler(calls), { transport })
  await lab.create('stale', { spec: { children: ['a', 'b'] } })
  await reconciling.untilThere('stale-b')
  await settle(lab)
  const before = calls.length
  await lab.patch('stale', { spec: { n: 1 } })
  await lab.until(() => calls.length > before)
  await lab.patch('stale', { spec: { children: ['a'] } })
  await reconciling.untilGone('stale-b')
  await settle(lab)
  expect(transport.writes('configmaps').map(({ method }) => method)).toEqual(['PATCH', 'PATCH', 'DELETE'])
  silence.open()
})

test('a child in a namespace that is being deleted is requested less and less often', async () => {
  const transport = lab.record()
  transport.meddle = async ({ method, path }, send) => {
    return method === 'PATCH' && path.includes('/configmaps/') ? refusal(403) : send()
  }
  await lab.start(reconciler(), { transport })
  await lab.create('doomed', { spec: {} })
  await lab.untilLogged('Cannot apply ConfigMap "doomed-a"')
  await lab.elapse(lab.isReal ? 4 : 60)
  expect(transport.writes('configmaps').length).toBeLessThan(lab.isReal ? 5 : 9)
  transport.meddle = (_, send) => send()
  await reconciling.untilThere('doomed-a')
})

test.each([409, 422, 500])('a single response %i does not lose a child', async (code) => {
  const transport = lab.record()
  let refusals = 1
  transport.meddle = async ({ method, path }, send) => {
    if (method === 'GET' || !path.includes('/configmaps/') || refusals === 0) return send()
    refusals -= 1
    return refusal(code)
  }
  await lab.start(reconciler(), { transport })
  await lab.create(`refused-${code}`, { spec: { children: ['a', 'b'] } })
  for (const child of ['a', 'b']) await reconciling.untilThere(`refused-${code}-${child}`)
  refusals = 1
  await lab.patch(`refused-${code}`, { spec: { children: ['b'] } })
  await reconciling.untilGone(`refused-${code}-a`)
})

test('children are created again after their CRD was deleted and created again', async () => {
  const kopf = new Operator()
  const gadget = { apiVersion: `${lab.group}/v1`, kind: 'Doohickey', metadata: { name: 'again' } }
  kopf.reconcile(lab.widgets, { owns: [[lab.group, 'v1', 'doohickeys']] }, () => ({ children: [gadget] }))
  const isThere = async () => (await lab.call('GET', lab.path('again', 'doohickeys'))).status === 200
  const definition = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/doohickeys.${lab.group}`
  await lab.install({ kind: 'Doohickey' })
  await lab.start(kopf)
  await lab.create('returning', { spec: {} })
  await lab.until(isThere)
  await lab.call('DELETE', definition)
  await lab.until(async () => (await lab.call('GET', definition)).status === 404)
  await lab.install({ kind: 'Doohickey' })
  await lab.until(isThere)
})

test('a cluster-scoped object can own children in namespaces', async () => {
  const kopf = new Operator()
  const kind = [lab.group, 'v1', 'realms'] as const
  await lab.install({ kind: 'Realm', scope: 'Cluster' })
  kopf.reconcile(kind, { owns: ['configmaps'], cleanup: true }, ({ spec, deleting, children }) => {
    if (deleting) return
    const names: string[] = spec['names']
    const own = children.get('configmaps', names[0]!, { namespace: lab.namespace })
    return {
      children: names.map((name) => configMap(name, { seen: String(own !== undefined) }, { namespace: lab.namespace })),
    }
  })
  const path = `/apis/${lab.group}/v1/realms`
  await lab.start(kopf, { clusterwide: true })
  const body = {
    apiVersion: `${lab.group}/v1`,
    kind: 'Realm',
    metadata: { name: 'north' },
    spec: { names: ['r-a', 'r-b'] },
  }
  await lab.call('POST', path, body)
  await reconciling.until('r-b', ({ data }) => data['seen'] === 'true')
  await lab.call('PATCH', `${path}/north`, { spec: { names: ['r-b'] } }, 'application/merge-patch+json')
  await reconciling.untilGone('r-a')
  await lab.call('DELETE', `${path}/north`)
  await reconciling.untilGone('r-b')
  await lab.until(async () => (await lab.call('GET', `${path}/north`)).status === 404)
})
