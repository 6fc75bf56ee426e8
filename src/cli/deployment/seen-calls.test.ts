/** Which calls through the client the source of an operator shows, and which it does not. */
import { describe, expect, test } from 'vitest'
import type { Resource } from '../../kube/resources.ts'
import { seeCalls } from './seen-calls.ts'
import { tokenize } from './source-tokens.ts'
import { readSource } from './source-values.ts'

function served(group: string, version: string, plural: string, kind: string): Resource {
  const names = { plural, kind, singular: kind.toLowerCase(), shortcuts: [], categories: [], subresources: [] }
  return { group, version, ...names, namespaced: true, preferred: true, verbs: ['list'] }
}

const known = [
  served('', 'v1', 'pods', 'Pod'),
  served('', 'v1', 'configmaps', 'ConfigMap'),
  served('apps', 'v1', 'deployments', 'Deployment'),
  served('example.com', 'v1', 'databases', 'Database'),
]

/** `get pods at 1`, or `client.get(kind) at 1?` where the resource is not known. */
function callsIn(...sources: string[]): string[] {
  const files = sources.map((text, index) => readSource(`${index}.ts`, tokenize(text)))
  const { clear, unclear } = seeCalls(files, known)
  const lineOf = (where: string) => where.split(':')[1]
  return [
    ...clear.map(({ verbs, plural, where }) => `${verbs.join(',')} ${plural} at ${lineOf(where)}`),
    ...unclear.map(({ text, where }) => `${text} at ${lineOf(where)}?`),
  ]
}

describe('a call is seen', () => {
  test.each<[string, string, string[]]>([
    ['by a literal', "await client.get('pods', name)", ['get pods at 1']],
    ['by a template without substitutions', 'client.list(`pods`)', ['list pods at 1']],
    ['with its group', 'client.list("deployments.apps")', ['list deployments at 1']],
    ['by a list', "client.list(['apps', 'v1', 'deployments'])", ['list deployments at 1']],
    [
      'by the keywords of a selector',
      "client.list({ group: 'apps', version: 'v1', plural: 'deployments' })",
      ['list deployments at 1'],
    ],
    ['with the verbs of an apply', "client.apply('configmaps', {})", ['patch,create configmaps at 1']],
    ['with the verbs of a watch', "client.watch('pods')", ['list,watch pods at 1']],
    ['with the verb of a replace', "client.replace('pods', pod)", ['update pods at 1']],
    [
      'of any owner',
      "this.client.delete('pods', 'x'); args.client?.delete('pods', 'x')",
      ['delete pods at 1', 'delete pods at 1'],
    ],
    ['of a private field', "this.#client.delete('pods', 'x')", ['delete pods at 1']],
    ['with type arguments', "client.get<Map<string, () => Pod>>('pods', 'x')", ['get pods at 1']],
    [
      'of a subresource',
      "client.patch('deployments', 'x', { spec }, { subresource: 'scale' })",
      ['patch deployments/scale at 1'],
    ],
    ['by an object', "client.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name } })", ['create pods at 1']],
    ['by an adopted object', "client.create(adopt({ apiVersion: 'v1', kind: 'Pod' }, body))", ['create pods at 1']],
    ['by a constant', "const pods = 'pods' as const\nclient.list(pods)", ['list pods at 2']],
    [
      'by a constant object',
      "const pod: Pod = { apiVersion: 'v1', kind: 'Pod' }\nclient.create(adopt(pod, body))",
      ['create pods at 2'],
    ],
    [
      'by a function that returns an object',
      "function podOf(name: string): Pod {\n  return { apiVersion: 'v1', kind: 'Pod', metadata: { name } }\n}\nclient.create(adopt(podOf(name), body))",
      ['create pods at 4'],
    ],
    [
      'by a function that returns a constant of its own',
      "function podOf() {\n  const pod = { apiVersion: 'v1', kind: 'Pod' }\n  return adopt(pod, owner)\n}\nconst pod = podOf()\nclient.create(pod)",
      ['create pods at 6'],
    ],
    [
      'by an arrow function that returns an object',
      "const podOf = (name: string): Pod => ({ apiVersion: 'v1', kind: 'Pod' })\nclient.create(podOf('a'))",
      ['create pods at 2'],
    ],
    [
      'by an arrow function with a body',
      "const podOf = (name) => {\n  return { apiVersion: 'v1', kind: 'Pod' } as const\n}\nclient.create(podOf('a'))",
      ['create pods at 4'],
    ],
    [
      'by a definition',
      "const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database', spec })\nclient.list(Database)",
      ['list databases at 2'],
    ],
    [
      'by a resource',
      "const Deployments = kopf.resource<Deployment>('apps/v1', 'deployments')\nclient.list(Deployments)",
      ['list deployments at 2'],
    ],
    ['under another name of the client', "({ client: api }) => api.get('pods', 'x')", ['get pods at 1']],
    ['under a variable for the client', "const api = args.client\napi.get('pods', 'x')", ['get pods at 2']],
    ['in a template', `\`\${await client.get('pods', \`a\${b}\`)}\``, ['get pods at 1']],
    [
      'after comments, regular expressions and quotes',
      "// client.get('x')\n/* ' */ const r = /['\"`]/; client.get('pods', 'it\\'s')",
      ['get pods at 2'],
    ],
    ['over several lines', "client\n  .get(\n    'pods',\n  )", ['get pods at 1']],
  ])('%s', (_, source, expected) => {
    expect(callsIn(source)).toEqual(expected)
  })

  test('by a constant of another file', () => {
    const definition =
      "export const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database' })"
    expect(callsIn(definition, 'client.list(Database)\nclient.list(all.Database)')).toEqual([
      'list databases at 1',
      'list databases at 2',
    ])
  })

  test('by a function of another file', () => {
    const maker =
      "export function podOf(name: string): Pod {\n  return { apiVersion: 'v1', kind: 'Pod', metadata: { name } }\n}"
    const caller = "import { podOf } from './1.ts'\nconst pod = podOf('a')\nclient.create(adopt(pod, body))"
    expect(callsIn(caller, maker)).toEqual(['create pods at 3'])
    expect(callsIn(caller, maker, maker)).toEqual(['client.create(adopt(pod, body)) at 3?'])
  })

  test('by the constant of its own block, and not by one of another block', () => {
    const source = `function a() { const it = { apiVersion: 'v1', kind: 'Pod' }; client.create(it) }
function b() { const it = { apiVersion: 'v1', kind: 'ConfigMap' }; if (x) { client.create(it) } }
function c(it) { client.create(it) }`
    expect(callsIn(source)).toEqual(['create pods at 1', 'create configmaps at 2', 'client.create(it) at 3?'])
  })
})

describe('the resource is not known', () => {
  test.each<[string, string, string[]]>([
    ['of a parameter', 'client.list(kind)', ['client.list(kind) at 1?']],
    ['of the resource at hand', 'client.patch(resource, name, {})', ['client.patch(resource, …) at 1?']],
    ['of a template with substitutions', `client.list(\`\${plural}.apps\`)`, ['client.list(…) at 1?']],
    ['of a resource that is not known', "client.list('unicorns')", ["client.list('unicorns') at 1?"]],
    [
      'of an object whose kind is not written there',
      'client.create({ ...base, kind })',
      ['client.create({...base, kind}) at 1?'],
    ],
    [
      'of a constant that depends on something',
      "const it = a ? 'pods' : 'configmaps'\nclient.list(it)",
      ['client.list(it) at 2?'],
    ],
    ['of an object as another type', 'client.create({ kind } as never)', ['client.create({kind}as never) at 1?']],
    [
      'of a function that returns one or the other',
      "function make(a) {\n  if (a) return { apiVersion: 'v1', kind: 'Pod' }\n  return { apiVersion: 'v1', kind: 'ConfigMap' }\n}\nclient.create(make(1))",
      ['client.create(make(1)) at 5?'],
    ],
    [
      'of a function that returns what it was given, although a constant has that name',
      "const pod = { apiVersion: 'v1', kind: 'Pod' }\nfunction own(pod) {\n  return adopt(pod, owner)\n}\nclient.create(own(config))",
      ['client.create(own(config)) at 5?'],
    ],
    [
      'of an arrow function that depends on something',
      "const make = (a) => a ? { apiVersion: 'v1', kind: 'Pod' } : other\nclient.create(make(1))",
      ['client.create(make(1)) at 2?'],
    ],
    ['of an unfinished function', 'function make(a {\nclient.create(make(1))', ['client.create(make(1)) at 2?']],
    ['of a function', 'client.create(makePod(spec))', ['client.create(makePod(spec)) at 1?']],
  ])('%s', (_, source, expected) => {
    expect(callsIn(source)).toEqual(expected)
  })
})

test.each([
  ['of other methods', "client.close('pods'); client.query('pods')"],
  ['without arguments', 'client.get()'],
  ['in strings and comments', "const a = \"client.get('pods')\" // client.get('pods')"],
  ['of other names', "clients.get('pods'); myclient.get('pods')"],
])('calls %s are none', (_, source) => {
  expect(callsIn(source)).toEqual([])
})

test.each([
  ['an open string', "client.get('pods"],
  ['an open template', `client.get(\`\${`],
  ['an open bracket', "client.get('pods', ["],
  ['a closing brace too many', "}}} client.get('pods', 'x')"],
  ['strange characters', 'client.get(\u0000\ud800 ☃)'],
])('%s does no harm', (_, source) => {
  expect(() => callsIn(source)).not.toThrow()
})
