/** `kopf uninstall` on a real control plane, after an operator that was killed. */
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { parseYaml } from '../../../src/util/yaml.ts'
import { Folder, KopfCommand, stopCommands } from '../../cli/run-support.ts'
import { useCluster } from '../../support/cluster.ts'
import { crdsPath } from '../../support/crds.ts'
import { eventually, expectStatus } from '../../support/expectations.ts'

const real = inject('realCluster')
const cluster = useCluster()
let folder: Folder

beforeAll(() => {
  folder = new Folder()
})
afterEach(stopCommands)
afterAll(() => folder.remove())

const operator = () => `import { defineResource, Operator } from 'kopf'
const kopf = new Operator({ name: 'gizmos', settings: { election: { enabled: true, leaseDuration: '3s', renewDeadline: '2s', retryPeriod: '1s' } } })
const Gizmo = defineResource({ group: '${cluster.group}', version: 'v1', kind: 'Gizmo' })
kopf.on.create(Gizmo, async ({ step }) => {
  await step('first', () => 1)
})
kopf.on.delete(Gizmo, () => {})
export default kopf
`

function start(...args: string[]): KopfCommand {
  return new KopfCommand(folder, [...args, '--kubeconfig', real.kubeconfigs.admin])
}

test('kopf uninstall refuses while the operator runs, and then removes all that it has left, CRDs included', {
  timeout: 90_000,
}, async () => {
  folder.write({ 'operator.ts': operator() })
  const printed = start('crd', 'operator.ts')
  expect(await printed.exit).toBe(0)
  for (const crd of parseYaml(printed.stdout)) expectStatus(await cluster.api.post(crdsPath, crd as never), 201)
  const same = start('crd', 'operator.ts', '--check-cluster')
  expect([await same.exit, same.stderr]).toEqual([0, `No difference: gizmos.${cluster.group}\n`])

  const gizmos = cluster.custom('gizmos')
  const running = start('run', 'operator.ts', '-n', cluster.namespace)
  const body = { apiVersion: `${cluster.group}/v1`, kind: 'Gizmo', metadata: { name: 'first' } }
  await eventually(async () => expectStatus(await cluster.api.post(gizmos, body as never), 201))
  await running.until(/Creation is processed/)
  const refused = start('uninstall', 'operator.ts')
  expect([await refused.exit, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain('holds the Lease default/gizmos')
  running.send('SIGKILL')
  await running.exit

  const removed = start('uninstall', 'operator.ts', '--crds', '--yes', '--force')
  expect(await removed.exit).toBe(0)
  expect(removed.stdout.split('\n')).toEqual([
    `Removed the finalizer from 1 object of gizmos.${cluster.group}.`,
    'Deleted Lease default/gizmos.',
    'Deleted Secret default/gizmos-steps.',
    `Deleted CustomResourceDefinition gizmos.${cluster.group} with 1 object.`,
    '',
  ])
  const again = start('uninstall', 'operator.ts')
  expect([await again.exit, again.stdout]).toEqual([0, 'The operator has left nothing: there is nothing to remove.\n'])
})
