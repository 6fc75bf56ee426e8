/** `kopf manifests --helm`: the files of the chart, and the folder that they are written to. Helm itself renders charts in test/real. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { splitImage } from '../../src/cli/deployment/helm/chart-values.ts'
import { TemplateText } from '../../src/cli/deployment/helm/template-text.ts'
import { parseYaml } from '../../src/util/yaml.ts'
import { KopfCommand, useFolder } from './run-support.ts'

const folder = useFolder()

const plain = `import { defineResource, Operator } from 'kopf'
const kopf = new Operator({ name: 'databases' })
const json = { type: 'object', description: 'Use {{ name }}', properties: { name: { type: 'string' } } }
const jsonSchema = { input: () => json, output: () => json }
const spec = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }), jsonSchema } }
const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database', spec })
kopf.on.create(Database, () => {})
export default kopf
`

async function run(...args: string[]): Promise<{ readonly code: number | string; stdout: string; stderr: string }> {
  const command = new KopfCommand(folder, ['manifests', 'operator.mjs', ...args])
  const code = await command.exit
  return { code, stdout: command.stdout, stderr: command.stderr }
}

function read(file: string): string {
  return readFileSync(join(folder.path, 'chart', file), 'utf8')
}

function listChart(): string[] {
  return (readdirSync(join(folder.path, 'chart'), { recursive: true }) as string[]).toSorted()
}

type Values = Record<string, unknown>

/** All paths of the values, such as `image.tag`. */
function pathsOf(values: Values, prefix = ''): string[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value)
    return [`${prefix}${key}`, ...(isGroup ? pathsOf(value as Values, `${prefix}${key}.`) : [])]
  })
}

describe('a chart', { timeout: 60_000 }, () => {
  test('has the metadata, the values and a template for each kind of object', async () => {
    folder.write({
      'operator.mjs': plain,
      'package.json': '{"name": "databases", "version": "1.2.0", "type": "module"}',
    })
    const { code, stdout } = await run(
      '--helm',
      'chart',
      '--with-crds',
      '--image',
      'registry.example.com:5000/databases:1.2.3',
    )
    expect(code).toBe(0)
    expect(stdout).toContain('chart is ready: Chart.yaml, values.yaml, values.schema.json, ')
    expect(stdout).toContain('  helm upgrade --install databases ./chart --namespace default\n')
    expect(listChart()).toEqual([
      'Chart.yaml',
      'templates',
      'templates/NOTES.txt',
      'templates/_helpers.tpl',
      'templates/crd-databases.example.com.yaml',
      'templates/deployment.yaml',
      'templates/networkpolicy.yaml',
      'templates/rbac.yaml',
      'templates/secret.yaml',
      'templates/serviceaccount.yaml',
      'values.schema.json',
      'values.yaml',
    ])
    expect(parseYaml(read('Chart.yaml'))).toEqual([
      {
        apiVersion: 'v2',
        name: 'databases',
        description: 'The operator databases',
        type: 'application',
        version: '1.2.0',
        appVersion: '1.2.3',
      },
    ])
    const [values] = parseYaml(read('values.yaml')) as Values[]
    expect(values).toMatchObject({
      image: { repository: 'registry.example.com:5000/databases', tag: '1.2.3', digest: '' },
      replicas: 1,
      crds: { install: true, keep: true },
    })
    const { properties } = JSON.parse(read('values.schema.json')) as { properties: object }
    expect(Object.keys(properties)).toEqual([...Object.keys(values!), 'global', 'enabled'])

    const texts = listChart()
      .filter((file) => file.startsWith('templates/'))
      .map(read)
    const used = texts.flatMap((text) => Array.from(text.matchAll(/\.Values\.([\w.]+)/g), ([, path]) => path!))
    expect([...new Set(used)].filter((path) => !pathsOf(values!).includes(path))).toEqual([])
    expect(read('templates/crd-databases.example.com.yaml')).toContain('Use {{ "{{" }} name }}')
    expect(read('templates/crd-databases.example.com.yaml')).toContain('helm.sh/resource-policy: keep')
  })

  test('is written again over the chart of an earlier call, without its obsolete files', async () => {
    folder.write({ 'operator.mjs': plain })
    await run('--helm', 'chart', '--with-crds')
    const { code, stderr } = await run('--helm', 'chart')
    expect([code, existsSync(join(folder.path, 'chart/templates/crd-databases.example.com.yaml'))]).toEqual([0, false])
    expect(stderr).toContain('The CRDs are not included')
    expect(parseYaml(read('values.yaml'))[0]).not.toHaveProperty('crds')
  })

  test('is not written into a folder with other files, nor in place of a file', async () => {
    folder.write({ 'operator.mjs': plain, 'chart/templates/mine.yaml': 'kind: ConfigMap\n' })
    expect(await run('--helm', 'chart')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'kopf: Cannot write a chart into "chart": it has files that are not of such a chart (templates/mine.yaml); name a new ' +
        'folder, or move these files away\n',
    })
    expect(listChart()).toEqual(['templates', 'templates/mine.yaml'])
    writeFileSync(join(folder.path, 'file'), '')
    expect((await run('--helm', 'file')).stderr).toBe('kopf: Cannot write a chart into "file": a file is in the way\n')
  })

  test('cannot create the namespace of its release', async () => {
    folder.write({ 'operator.mjs': plain })
    const { code, stderr } = await run('--helm', 'chart', '--create-namespace')
    expect([code, stderr]).toEqual([2, expect.stringContaining('Use `helm install --create-namespace`.')])
  })

  test('checks the namespace of the release if the operator serves the namespace in which it runs', async () => {
    folder.write({ 'operator.mjs': plain })
    await run('--helm', 'chart', '-n', 'team-a', '--install-namespace', 'team-a')
    expect(read('templates/_helpers.tpl')).toContain('{{- if ne .Release.Namespace "team-a" }}')
    await run('--helm', 'chart', '-n', 'team-a', '--install-namespace', 'operators')
    expect(read('templates/_helpers.tpl')).not.toContain('.Release.Namespace')
    expect(read('templates/rbac.yaml')).toContain('namespace: team-a\n')
  })
})

test.each([
  ['databases', { repository: 'databases', tag: 'latest', digest: '' }],
  ['localhost:5000/databases', { repository: 'localhost:5000/databases', tag: 'latest', digest: '' }],
  ['localhost:5000/databases:1', { repository: 'localhost:5000/databases', tag: '1', digest: '' }],
  ['databases@sha256:12', { repository: 'databases', tag: '', digest: 'sha256:12' }],
  ['databases:1@sha256:12', { repository: 'databases', tag: '1', digest: 'sha256:12' }],
])('the image %s is split into the values of a chart', (image, parts) => {
  expect(splitImage(image)).toEqual(parts)
})

test('a template has actions in place of the markers, and escapes text that looks like an action', () => {
  const template = new TemplateText()
  const object = {
    name: template.value('.Values.name'),
    text: 'a {{ b }}',
    list: ['a', template.optional('more')],
    map: template.yaml('toYaml .Values.map'),
    ...template.when('.Values.flag', { flag: true }),
  }
  expect(template.format(object)).toBe(`name: {{ .Values.name }}
text: a {{ "{{" }} b }}
list:
- a
{{- with .Values.more }}
{{- toYaml . | nindent 0 }}
{{- end }}
map:
  {{- toYaml .Values.map | nindent 2 }}
{{- if .Values.flag }}
flag: true
{{- end }}
`)
})
