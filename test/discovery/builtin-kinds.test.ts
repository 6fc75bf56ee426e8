/** The resources of `kopf/kubernetes`, compared with a server. */
import * as kubernetes from 'kopf/kubernetes'
import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'

const lab = useLab()

interface ServedKind {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
}
type GroupList = { groups: Array<{ name: string; preferredVersion: { groupVersion: string } }> }

async function read<T>(path: string): Promise<T> {
  return (await lab.call('GET', path)).body as T
}

/** The resources of the API groups of Kubernetes itself in their preferred versions, as `apps/v1/Deployment deployments true`. */
async function servedResources(): Promise<string[]> {
  const { groups } = await read<GroupList>('/apis')
  const builtins = groups.filter(({ name }) => name.endsWith('.k8s.io') || !name.includes('.'))
  const apis = [
    { api: 'v1', path: '/api/v1' },
    ...builtins.map(({ preferredVersion: { groupVersion } }) => ({ api: groupVersion, path: `/apis/${groupVersion}` })),
  ]
  const found = await Promise.all(
    apis.map(async ({ api, path }) => {
      const { resources } = await read<{ resources: ServedKind[] }>(path)
      const whole = resources.filter(({ name }) => !name.includes('/'))
      return whole.map(({ name, kind, namespaced }) => `${api}/${kind} ${name} ${namespaced}`)
    }),
  )
  return found.flat()
}

test('kopf/kubernetes has every built-in kind that the server serves, with its group, version, plural and scope', async () => {
  const known = new Set(
    Object.values(kubernetes).map(({ group, version, kind, plural, scope }) => {
      const api = group === '' ? version : `${group}/${version}`
      return `${api}/${kind} ${plural} ${scope === 'Namespaced'}`
    }),
  )
  const served = await servedResources()
  expect(served.length).toBeGreaterThan(30)
  // The plain name is that of the core group; the other Event is in kopf/kubernetes/events/v1.
  const elsewhere = ['events.k8s.io/v1/Event events true']
  expect(served.filter((one) => !known.has(one) && !elsewhere.includes(one))).toEqual([])
})

test('each export of kopf/kubernetes has the name of its kind, and its selector names the same resource', () => {
  for (const [name, { kind, selector, group, version, plural }] of Object.entries(kubernetes)) {
    expect(kind).toBe(name)
    expect(selector).toEqual({ group, version, plural })
  }
  expect(Object.keys(kubernetes).length).toBeGreaterThan(60)
})
