/** `kopf dev --cluster` on a real control plane, which gets CRDs only with `--crds`. */
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { Folder, KopfCommand, stopCommands } from '../../cli/run-support.ts'
import { useCluster } from '../../support/cluster.ts'
import { crdsPath } from '../../support/crds.ts'

const real = inject('realCluster')
const cluster = useCluster()
let folder: Folder

beforeAll(() => {
  folder = new Folder()
})
afterEach(stopCommands)
afterAll(async () => {
  await cluster.api.delete(`${crdsPath}/gizmos.${cluster.group}`)
  folder.remove()
})

const operatorOf = (word: string, type = 'integer') => `import { Operator, defineResource } from 'kopf'
const json = { type: 'object', properties: { size: { type: '${type}' } } }
const schema = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }), jsonSchema: { input: () => json, output: () => json } } }
const Gizmo = defineResource({ group: '${cluster.group}', version: 'v1', kind: 'Gizmo', spec: schema })
const kopf = new Operator()
kopf.on.create(Gizmo, ({ logger }) => logger.info('create: ${word}'))
kopf.on.resume(Gizmo, ({ logger }) => logger.info('resume: ${word}'))
export default kopf
`

test('kopf dev --cluster applies changed CRDs and objects, and reloads the operator', { timeout: 60_000 }, async () => {
  const gizmo = {
    apiVersion: `${cluster.group}/v1`,
    kind: 'Gizmo',
    metadata: { name: 'first', namespace: cluster.namespace },
  }
  folder.write({ 'operator.ts': operatorOf('one'), 'objects.json': JSON.stringify(gizmo) })
  const options = ['--cluster', '--crds', '--kubeconfig', real.kubeconfigs.admin, '-n', cluster.namespace]
  const one = new KopfCommand(folder, ['dev', 'operator.ts', '--apply', 'objects.json', ...options])
  await one.until(
    new RegExp(
      `kopf dev: operator\\.ts on https://127\\.0\\.0\\.1:\\d+ \\(context \\S+\\), namespace ${cluster.namespace}$`,
      'm',
    ),
  )
  await one.until(/create: one/)
  await one.until(/Creation is processed/)
  folder.write({ 'operator.ts': operatorOf('two') })
  await one.until(/resume: two/)
  await one.until(/operator\.ts changed, reloaded in \d+ ms: 2 handlers/)
  folder.write({ 'objects.json': JSON.stringify({ ...gizmo, spec: { size: 1 } }) })
  await one.until(/changed gizmos\.\S+\/first/)
  // The real server does not validate unchanged fields of an update (ratcheting).
  folder.write({ 'operator.ts': operatorOf('three', 'string') })
  await one.until(
    /The new schema of gizmos\.\S+ does not fit an existing object: \S+\/first \(spec\.size: .*\)\. Change the objects or the schema\.\n/,
  )
  // An object that is removed from its file stays: `kopf dev` deletes nothing on a cluster.
  folder.write({ 'objects.json': JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }) })
  await one.until(/applied in \d+ ms\n(.*\n)*.*applied in/)
  one.send('SIGTERM')
  expect(await one.exit).toBe(0)
  const { body } = await cluster.api.get(cluster.custom('gizmos/first'))
  expect(body.spec).toEqual({ size: 1 })
})
