/** `kopf crd`, run as a command. */
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parseYaml } from '../../src/util/yaml.ts'
import { crdsPath } from '../support/crds.ts'
import { ask } from '../support/in-process.ts'
import { Folder, KopfCommand, stopCommands } from './run-support.ts'

/** A Standard Schema written by hand, so that no schema library is needed. */
const schemas = `
const schema = (json: object) => ({
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }), jsonSchema: { input: () => json, output: () => json } },
}) as never
const size = { type: 'object', properties: { size: { type: 'integer', minimum: 1 } } }
`
const operator = `import { defineResource, Operator } from 'kopf'
${schemas}
const kopf = new Operator()
kopf.on.create(defineResource({ group: 'example.com', version: 'v1', kind: 'Database', spec: schema(size) }), () => {})
kopf.on.create(defineResource({ group: 'example.com', version: 'v1', kind: 'Backup', scope: 'Cluster' }), () => {})
export default kopf
`
const nothingDefined = `import { Operator } from 'kopf'
const kopf = new Operator()
kopf.on.create('configmaps', () => {})
export default kopf
`

let server: RunningServer
let folder: Folder

beforeAll(async () => {
  server = await startServer()
  folder = new Folder()
  folder.write({ 'operator.ts': operator, 'others.ts': nothingDefined, 'dev.kubeconfig': server.kubeconfig })
})
afterEach(stopCommands)
afterAll(async () => {
  await server.stop()
  folder.remove()
})

async function crd(...args: string[]): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  const one = new KopfCommand(folder, ['crd', ...args])
  return { exit: await one.exit, stdout: one.stdout, stderr: one.stderr }
}

describe('CRDs of an operator', { timeout: 60_000 }, () => {
  test('kopf crd prints CRDs that a cluster accepts, and --check finds no difference to them in the cluster', async () => {
    const printed = await crd('operator.ts')
    expect(printed).toMatchObject({ exit: 0, stderr: '' })
    const definitions = parseYaml(printed.stdout) as { metadata: { name: string } }[]
    expect(definitions.map(({ metadata }) => metadata.name)).toEqual(['databases.example.com', 'backups.example.com'])
    for (const body of definitions)
      expect(await ask(server.api, 'POST', crdsPath, { body })).toMatchObject({ status: 201 })
    folder.write({ 'crds.yaml': printed.stdout })
    const checked = await crd(
      'operator.ts',
      '--check',
      'crds.yaml',
      '--check-cluster',
      '--kubeconfig',
      'dev.kubeconfig',
    )
    expect(checked).toEqual({ exit: 0, stdout: '', stderr: 'No drift: databases.example.com, backups.example.com\n' })
  })

  test('kopf crd --check compares with a file field by field and prints the differences', async () => {
    const [database] = (await crd('operator.ts')).stdout.split('---\n')
    folder.write({
      'old.yaml': database!
        .replace('minimum: 1', 'minimum: 2')
        .replace('storage: true', 'storage: true\n    deprecated: true'),
    })
    const { exit, stdout, stderr } = await crd('operator.ts', '--check', 'old.yaml')
    expect(exit).toBe(1)
    const schema = 'spec.versions.v1.schema.openAPIV3Schema.properties.spec.properties.size.minimum'
    expect(stdout.split('\n').toSorted()).toEqual([
      '',
      'old.yaml: backups.example.com: is not there',
      'old.yaml: databases.example.com: spec.versions.v1.deprecated is true, and the operator does not have it',
      `old.yaml: databases.example.com: ${schema} is 2, and should be 1`,
    ])
    expect(stderr).toContain('kopf: The definitions have drifted from those of the operator (3 places)')
  })
})

describe('kopf crd failures', { timeout: 60_000 }, () => {
  test.each<[string, string[], number, string]>([
    ['no file is named', [], 2, 'error: no operator. Name a file, or a module with --module.\n(see --help)\n'],
    [
      'the operator defines no resource',
      ['others.ts'],
      1,
      'kopf: Cannot print definitions of others.ts: no handler is for a resource of defineResource; resources that are only named have their CRDs elsewhere\n',
    ],
    [
      'the file to check does not exist',
      ['operator.ts', '--check', 'none.yaml'],
      1,
      'kopf: Cannot read "none.yaml": there is no such file or folder\n',
    ],
  ])('kopf crd fails with a message if %s', async (_, args, exit, stderr) => {
    expect(await crd(...args)).toEqual({ exit, stdout: '', stderr })
  })
})
