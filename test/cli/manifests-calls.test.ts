/** `kopf manifests` names the calls through `client` that the operator's source shows and that the printed rules do not allow. */
import { expect, test } from 'vitest'
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

test('kopf manifests prints the remark without a list if the source has no client calls', async () => {
  folder.write({
    'operator.ts': `import { Operator } from 'kopf'
const kopf = new Operator({ name: 'plain' })
kopf.on.event('pods', () => {})
export default kopf
`,
  })
  expect((await remarks('operator.ts')).told).toBe(`${head}\n`)
})
