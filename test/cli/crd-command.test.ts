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
    expect(checked).toEqual({
      exit: 0,
      stdout: '',
      stderr: 'No difference: databases.example.com, backups.example.com\n',
    })
  })

  test('kopf crd --check prints each difference with its effect, and exits with 1 even if all are compatible', async () => {
    const [database] = (await crd('operator.ts')).stdout.split('---\n')
    folder.write({
      'old.yaml': database!
        .replace('minimum: 1', 'minimum: 2')
        .replace('storage: true', 'storage: true\n    deprecated: true'),
    })
    const { exit, stdout, stderr } = await crd('operator.ts', '--check', 'old.yaml')
    expect(exit).toBe(1)
    expect(stdout.split('\n')).toEqual([
      'Compatible (3):',
      '  old.yaml: databases.example.com v1: deprecated is true, and is removed: only warnings to clients differ',
      '  old.yaml: databases.example.com v1: spec.size: minimum is 2, and becomes 1: smaller values are accepted',
      '  old.yaml: backups.example.com: is not there: the CRD is new',
      '',
    ])
    expect(stderr).toContain(
      'kopf: The CRDs differ from those of the operator (3 differences): none is breaking; print them again',
    )
    expect(await crd('operator.ts', '--check', 'old.yaml', '--fail-on', 'breaking')).toMatchObject({
      exit: 0,
      stdout,
      stderr: 'The CRDs differ from those of the operator (3 differences): none is breaking\n',
    })
  })

  test('kopf crd --check --fail-on breaking exits with 1 if a difference is breaking', async () => {
    const printed = (await crd('operator.ts')).stdout
    folder.write({
      'narrow.yaml': printed
        .replace('minimum: 1', 'maximum: 5')
        .replace(/^( +)size:$/m, '$1color:\n$1  type: string\n$1size:'),
    })
    const { exit, stdout, stderr } = await crd('operator.ts', '--check', 'narrow.yaml', '--fail-on', 'breaking')
    expect(exit).toBe(1)
    expect(stdout.split('\n')).toEqual([
      'Breaking (2):',
      '  narrow.yaml: databases.example.com v1: spec.color: the field is removed: its values are dropped at the next write of an object',
      '  narrow.yaml: databases.example.com v1: spec.size: minimum is not set, and becomes 1: smaller values are refused',
      'Compatible (1):',
      '  narrow.yaml: databases.example.com v1: spec.size: maximum is 5, and is removed: larger values are accepted',
      '',
    ])
    expect(stderr).toContain('(3 differences): 2 of them are breaking; print them again')
  })

  test('kopf crd --check -o json prints the differences for programs', async () => {
    const printed = (await crd('operator.ts')).stdout
    folder.write({ 'plural.yaml': printed.replaceAll('databases', 'dbs') })
    const { exit, stdout } = await crd('operator.ts', '--check', 'plural.yaml', '-o', 'json')
    expect([exit, JSON.parse(stdout)]).toEqual([
      1,
      {
        breaking: [
          {
            source: 'plural.yaml',
            crd: 'databases.example.com',
            path: 'spec.names.plural',
            property: '',
            before: 'dbs',
            after: 'databases',
            severity: 'breaking',
            reason: expect.stringContaining('the API server refuses the change'),
          },
        ],
        compatible: [],
      },
    ])
    folder.write({ 'same.yaml': printed })
    expect(await crd('operator.ts', '--check', 'same.yaml', '-o', 'json')).toMatchObject({
      exit: 0,
      stdout: '{"breaking":[],"compatible":[]}\n',
    })
  })

  test('kopf crd --check-cluster compares with the stored versions of the cluster', async () => {
    const [database] = parseYaml((await crd('operator.ts')).stdout) as [Record<string, { versions: object[] }>]
    const [v1] = database['spec']!.versions
    const versions = [
      { ...v1, name: 'v1alpha1', served: false },
      { ...v1, storage: false },
    ]
    const name = 'databases.example.com'
    await ask(server.api, 'DELETE', `${crdsPath}/${name}`)
    const body = { ...database, spec: { ...database['spec'], versions } }
    expect(await ask(server.api, 'POST', crdsPath, { body })).toMatchObject({ status: 201 })
    const checked = await crd('operator.ts', '--check-cluster', '--kubeconfig', 'dev.kubeconfig')
    expect(checked.exit).toBe(1)
    expect(checked.stdout).toContain(
      `  the cluster: ${name} v1alpha1: the version is removed: objects may be stored in it, so the API server refuses the change; run \`npx kopf crd migrate\` first\n`,
    )
  })
})

describe('kopf crd failures', { timeout: 60_000 }, () => {
  test.each<[string, string[], number, string]>([
    ['no file is named', [], 2, 'error: no operator. Name a file, or a module with --module.\n(see --help)\n'],
    [
      'the operator defines no resource',
      ['others.ts'],
      1,
      'kopf: Cannot print CRDs of others.ts: no handler is for a resource that is created with defineResource; get the CRDs of other resources from their authors\n',
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
