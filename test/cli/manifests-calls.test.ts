/** `kopf manifests` names the calls through `client` that the operator's source shows and that the printed rules do not allow. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, inject, test } from 'vitest'
import { KopfCommand, useFolder } from './run-support.ts'

const folder = useFolder()

async function remarks(...args: string[]): Promise<{ readonly told: string; readonly printed: string }> {
  const command = new KopfCommand(folder, ['manifests', '--image', 'x', '--with-crds', '-A', '--standalone', ...args])
  expect(await command.exit).toBe(0)
  return { told: command.stderr, printed: command.stdout }
}

const head =
  'Requests that handlers send with the client are not in these rules: add them with --grant "verbs resource".'

function writeOperator(): void {
  folder.write({
    'operator.ts': `import { Operator, adopt } from 'kopf'
import { Database } from './database.ts'
import { backUp } from './handlers/backup.ts'
const kopf = new Operator({ name: 'databases' })
kopf.on.create(Database, async ({ name, body, client, resource }) => {
  const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name } }
  await client.create(adopt(claim, body))
  await client.patch(Database, name, { spec: {} })
  await client.delete(resource, name)
})
kopf.on.update(Database, backUp)
export default kopf
`,
    'database.ts': `import { defineResource } from 'kopf'
export const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database' })
`,
    'handlers/backup.ts': `import type { Args } from 'kopf'
import { Database } from '../database.ts'
export async function backUp({ client, name }: Args<'update', typeof Database>): Promise<void> {
  const pods: object[] = await client.list('pods', { labelSelector: { database: name } })
  if (pods.length === 0) await client.patch('deployments.apps', name, { spec: { replicas: 1 } }, { subresource: 'scale' })
  await client.get('pods', name)
}
`,
  })
}

test('kopf manifests names the client calls that the printed rules do not allow, and the --grant option for each', async () => {
  writeOperator()
  const { told } = await remarks('operator.ts')
  expect(told.trimEnd().split('\n')).toEqual([
    `${head} In the source there are:`,
    '  --grant "list,get pods"  for handlers/backup.ts:4, handlers/backup.ts:6',
    '  --grant "patch deployments.apps/scale"  for handlers/backup.ts:5',
    '  --grant "create persistentvolumeclaims"  for operator.ts:7',
    '  client.delete(resource, …) at operator.ts:9, whose resource is not known',
  ])
})

test('kopf manifests accepts the --grant options that it named, and no longer names those calls', async () => {
  writeOperator()
  const { told } = await remarks('operator.ts')
  const grants = [...told.matchAll(/--grant "([a-z,]+ [^"]+)" {2}/g)].flatMap(([, rule]) => ['--grant', rule!])
  const granted = await remarks('operator.ts', ...grants)
  expect(granted.printed).toContain('deployments/scale')
  expect(granted.told.trimEnd().split('\n')).toEqual([
    `${head.replace('are not in', 'are not all in')} In the source there are:`,
    '  client.delete(resource, …) at operator.ts:9, whose resource is not known',
  ])
})

test('kopf manifests finds client calls in plain JavaScript', async () => {
  folder.write({
    'package.json': '{ "type": "module" }',
    'operator.js': `import { Operator } from 'kopf'
const kopf = new Operator({ name: 'plain' })
kopf.on.event('pods', ({ client }) => client.delete('services', 'x'))
export default kopf
`,
  })
  expect((await remarks('operator.js')).told).toContain('  --grant "delete services"  for operator.js:3')
})

test('kopf manifests prints no remark on client calls if the source has none', async () => {
  folder.write({
    'operator.ts': `import { Operator } from 'kopf'
const kopf = new Operator({ name: 'plain' })
kopf.on.event('pods', () => {})
export default kopf
`,
  })
  expect((await remarks('operator.ts')).told).toBe('')
})

test('kopf manifests finds the resources of client calls with kinds of kopf/kubernetes', async () => {
  folder.write({
    'operator.ts': `import { Operator } from 'kopf'
import * as kubernetes from 'kopf/kubernetes'
import { type PodSpec, Secret, Deployment as Workload, Event } from 'kopf/kubernetes'
import { CronJob } from 'kopf/kubernetes/batch/v1'
const kopf = new Operator({ name: 'typed' })
kopf.on.event('pods', async ({ client, name, namespace }) => {
  await client.get(Secret, name, { namespace })
  await client.list(kubernetes.Ingress)
  await client.patch(Workload, name, {}, { subresource: 'scale' })
  await client.list(CronJob)
  await client.delete(Event, name)
})
export default kopf
`,
  })
  expect((await remarks('operator.ts')).told.trimEnd().split('\n')).toEqual([
    `${head} In the source there are:`,
    '  --grant "get secrets"  for operator.ts:7',
    '  --grant "list ingresses.networking.k8s.io"  for operator.ts:8',
    '  --grant "patch deployments.apps/scale"  for operator.ts:9',
    '  --grant "list cronjobs.batch"  for operator.ts:10',
    '  --grant "delete events"  for operator.ts:11',
  ])
})

test('kopf manifests says that it has not searched a package for client calls', async () => {
  const ours = pathToFileURL(join(inject('package'), 'dist', 'index.js')).href
  folder.write({
    'package.json': '{ "type": "module" }',
    'node_modules/kopf/package.json': JSON.stringify({ name: 'kopf', type: 'module', exports: './index.js' }),
    'node_modules/kopf/index.js': `export * from ${JSON.stringify(ours)}\n`,
    'node_modules/packaged/package.json': JSON.stringify({ name: 'packaged', type: 'module', exports: './index.js' }),
    'node_modules/packaged/index.js': `import { Operator } from 'kopf'
const kopf = new Operator({ name: 'packaged' })
kopf.on.event('pods', ({ client }) => client.delete('services', 'x'))
export default kopf
`,
  })
  const { told } = await remarks('--module', 'packaged')
  expect(told).toBe(`${head} The command has not searched the package packaged for them.\n`)
  expect((await remarks('--module', 'packaged', '--grant', 'delete services')).told).toBe('')
})
