/** The table of scopes that types the namespace of built-in kinds, compared with a server. */
import { expect, test } from 'vitest'
import { clusterKinds, namespacedKinds } from '../../src/kube/resources/builtin-scopes.ts'
import { useLab } from '../support/lab.ts'

const lab = useLab()

interface ServedKind {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
}
type GroupList = { groups: Array<{ name: string; preferredVersion: { groupVersion: string } }> }

async function read<T>(path: string): Promise<T> {
  return (await lab.call('GET', path)).body as T
}

/** The watchable kinds of the API groups of Kubernetes itself, by `Kind` or `Kind.group`. */
async function servedKinds(): Promise<Map<string, ServedKind>> {
  const { groups } = await read<GroupList>('/apis')
  const builtins = groups.filter(({ name }) => name.endsWith('.k8s.io') || !name.includes('.'))
  const found = new Map<string, ServedKind>()
  for (const { name, path } of [
    { name: '', path: '/api/v1' },
    ...builtins.map(({ name, preferredVersion }) => ({ name, path: `/apis/${preferredVersion.groupVersion}` })),
  ]) {
    for (const one of (await read<{ resources: ServedKind[] }>(path)).resources) {
      if (!one.name.includes('/') && one.verbs.includes('watch'))
        found.set([one.kind, name].filter(Boolean).join('.'), one)
    }
  }
  return found
}

test('the table of built-in kinds has the scopes and plurals that the server serves, and no kind is missing', async () => {
  const served = await servedKinds()
  const scopes = { ...namespacedKinds, ...clusterKinds } as Readonly<Record<string, string>>
  expect(served.size).toBeGreaterThan(30)
  const expected = [...served].map(([key, { name, namespaced }]) => [key, name, namespaced])
  const actual = [...served.keys()].map((key) => [key, scopes[key], key in namespacedKinds])
  expect(actual).toEqual(expected)
})
