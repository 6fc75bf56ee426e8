/** The client calls that are found in the source of an operator, with the RBAC verbs they need. */
import { describe, expect, test } from 'vitest'
import type { Resource } from '../../../kube/resources/resources.ts'
import { findClientCalls } from './seen-calls.ts'
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

/** `get pods at 1`, or `client.get(kind) at 1?` if the resource is unknown. */
function callsIn(...sources: string[]): string[] {
  const files = sources.map((text, index) => readSource(`${index}.ts`, tokenize(text)))
  const { clear, unclear } = findClientCalls(files, known)
  const lineOf = (where: string) => where.split(':')[1]
  return [
    ...clear.map(({ verbs, plural, where }) => `${verbs.join(',')} ${plural} at ${lineOf(where)}`),
    ...unclear.map(({ text, where }) => `${text} at ${lineOf(where)}?`),
  ]
}

describe('client calls in the source of an operator', () => {
  test.each<[string, string, string[]]>([
    ['with the resource as a literal', "await client.get('pods', name)", ['get pods at 1']],
    ['with the resource as a template without substitutions', 'client.list(`pods`)', ['list pods at 1']],
    ['with a resource that has a group', 'client.list("deployments.apps")', ['list deployments at 1']],
    [
      'with the resource as a list of group, version and plural',
      "client.list(['apps', 'v1', 'deployments'])",
      ['list deployments at 1'],
    ],
    [
      'with the resource as an object with group, version and plural',
      "client.list({ group: 'apps', version: 'v1', plural: 'deployments' })",
      ['list deployments at 1'],
    ],
    [
      'as an apply, which needs the verbs patch and create',
      "client.apply('configmaps', {})",
      ['patch,create configmaps at 1'],
    ],
    ['as a watch, which needs the verbs list and watch', "client.watch('pods')", ['list,watch pods at 1']],
    ['as a replace, which needs the verb update', "client.replace('pods', pod)", ['update pods at 1']],
    [
      'on a client that is a property of any object',
      "this.client.delete('pods', 'x'); args.client?.delete('pods', 'x')",
      ['delete pods at 1', 'delete pods at 1'],
    ],
    ['on a client in a private field', "this.#client.delete('pods', 'x')", ['delete pods at 1']],
    [
      'with an imported built-in kind, which a constant of an inner block hides',
      "import { Pod } from 'kopf/kubernetes'\nclient.list(Pod)\n{\nconst Pod = other\nclient.list(Pod) }",
      ['list pods at 2', 'client.list(Pod) at 5?'],
    ],
    ['with type arguments', "client.get<Map<string, () => Pod>>('pods', 'x')", ['get pods at 1']],
    [
      'with a subresource',
      "client.patch('deployments', 'x', { spec }, { subresource: 'scale' })",
      ['patch deployments/scale at 1'],
    ],
    [
      'with an object literal that has apiVersion and kind',
      "client.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name } })",
      ['create pods at 1'],
    ],
    ['with an adopted object', "client.create(adopt({ apiVersion: 'v1', kind: 'Pod' }, body))", ['create pods at 1']],
    ['with the resource in a constant', "const pods = 'pods' as const\nclient.list(pods)", ['list pods at 2']],
    [
      'with an object in a constant',
      "const pod: Pod = { apiVersion: 'v1', kind: 'Pod' }\nclient.create(adopt(pod, body))",
      ['create pods at 2'],
    ],
    [
      'with a function that returns an object',
      "function podOf(name: string): Pod {\n  return { apiVersion: 'v1', kind: 'Pod', metadata: { name } }\n}\nclient.create(adopt(podOf(name), body))",
      ['create pods at 4'],
    ],
    [
      'with a function that returns a constant of its own',
      "function podOf() {\n  const pod = { apiVersion: 'v1', kind: 'Pod' }\n  return adopt(pod, owner)\n}\nconst pod = podOf()\nclient.create(pod)",
      ['create pods at 6'],
    ],
    [
      'with an arrow function that returns an object',
      "const podOf = (name: string): Pod => ({ apiVersion: 'v1', kind: 'Pod' })\nclient.create(podOf('a'))",
      ['create pods at 2'],
    ],
    [
      'with an arrow function that has a body',
      "const podOf = (name) => {\n  return { apiVersion: 'v1', kind: 'Pod' } as const\n}\nclient.create(podOf('a'))",
      ['create pods at 4'],
    ],
    [
      'with a resource of defineResource in a constant',
      "const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database', spec })\nclient.list(Database)",
      ['list databases at 2'],
    ],
    [
      'with a resource of kopf.resource in a constant',
      "const Deployments = kopf.resource<Deployment>('apps/v1', 'deployments')\nclient.list(Deployments)",
      ['list deployments at 2'],
    ],
    ['on a renamed `client` argument', "({ client: api }) => api.get('pods', 'x')", ['get pods at 1']],
    ['on a variable that holds the client', "const api = args.client\napi.get('pods', 'x')", ['get pods at 2']],
    ['inside a template', `\`\${await client.get('pods', \`a\${b}\`)}\``, ['get pods at 1']],
    [
      'after comments, regular expressions and quotes',
      "// client.get('x')\n/* ' */ const r = /['\"`]/; client.get('pods', 'it\\'s')",
      ['get pods at 2'],
    ],
    ['across several lines', "client\n  .get(\n    'pods',\n  )", ['get pods at 1']],
  ])('a client call is recognized %s', (_, source, expected) => {
    expect(callsIn(source)).toEqual(expected)
  })

  test('a client call with a resource defined in another file is recognized', () => {
    const definition =
      "export const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database' })"
    expect(callsIn(definition, 'client.list(Database)\nclient.list(all.Database)')).toEqual([
      'list databases at 1',
      'list databases at 2',
    ])
  })

  test('a client call with an object made by a function of another file is recognized', () => {
    const maker =
      "export function podOf(name: string): Pod {\n  return { apiVersion: 'v1', kind: 'Pod', metadata: { name } }\n}"
    const caller = "import { podOf } from '../1.ts'\nconst pod = podOf('a')\nclient.create(adopt(pod, body))"
    expect(callsIn(caller, maker)).toEqual(['create pods at 3'])
    expect(callsIn(caller, maker, maker)).toEqual(['client.create(adopt(pod, body)) at 3?'])
  })

  test('a client call uses the constant of its own block, not a constant with the same name in another block', () => {
    const source = `function a() { const it = { apiVersion: 'v1', kind: 'Pod' }; client.create(it) }
function b() { const it = { apiVersion: 'v1', kind: 'ConfigMap' }; if (x) { client.create(it) } }
function c(it) { client.create(it) }`
    expect(callsIn(source)).toEqual(['create pods at 1', 'create configmaps at 2', 'client.create(it) at 3?'])
  })
})

describe('client calls with an unknown resource', () => {
  test.each<[string, string, string[]]>([
    ['a parameter', 'client.list(kind)', ['client.list(kind) at 1?']],
    ['the `resource` argument of the handler', 'client.patch(resource, name, {})', ['client.patch(resource, …) at 1?']],
    ['a template with substitutions', `client.list(\`\${plural}.apps\`)`, ['client.list(…) at 1?']],
    [
      'a kind that is imported from another package, or as a type',
      "import { Pod } from 'other'\nimport type { Pod } from 'kopf/kubernetes'\nclient.list(Pod)",
      ['client.list(Pod) at 3?'],
    ],
    ['a plural that is not a known resource', "client.list('unicorns')", ["client.list('unicorns') at 1?"]],
    [
      'an object literal without a literal kind',
      'client.create({ ...base, kind })',
      ['client.create({...base, kind}) at 1?'],
    ],
    [
      'a constant with a conditional value',
      "const it = a ? 'pods' : 'configmaps'\nclient.list(it)",
      ['client.list(it) at 2?'],
    ],
    [
      'an object literal with a type assertion',
      'client.create({ kind } as never)',
      ['client.create({kind}as never) at 1?'],
    ],
    [
      'a function that returns different kinds',
      "function make(a) {\n  if (a) return { apiVersion: 'v1', kind: 'Pod' }\n  return { apiVersion: 'v1', kind: 'ConfigMap' }\n}\nclient.create(make(1))",
      ['client.create(make(1)) at 5?'],
    ],
    [
      'a function that returns its parameter, although a constant has the same name',
      "const pod = { apiVersion: 'v1', kind: 'Pod' }\nfunction own(pod) {\n  return adopt(pod, owner)\n}\nclient.create(own(config))",
      ['client.create(own(config)) at 5?'],
    ],
    [
      'an arrow function with a conditional value',
      "const make = (a) => a ? { apiVersion: 'v1', kind: 'Pod' } : other\nclient.create(make(1))",
      ['client.create(make(1)) at 2?'],
    ],
    ['a function that is not complete', 'function make(a {\nclient.create(make(1))', ['client.create(make(1)) at 2?']],
    ['a function that is not in the source', 'client.create(makePod(spec))', ['client.create(makePod(spec)) at 1?']],
  ])('a client call is reported without a resource for %s', (_, source, expected) => {
    expect(callsIn(source)).toEqual(expected)
  })
})

test.each([
  ['of another method', "client.close('pods'); client.query('pods')"],
  ['without arguments', 'client.get()'],
  ['in a string or a comment', "const a = \"client.get('pods')\" // client.get('pods')"],
  ['on a variable with another name', "clients.get('pods'); myclient.get('pods')"],
])('a call %s is not taken for a client call', (_, source) => {
  expect(callsIn(source)).toEqual([])
})

test.each([
  ['an open string', "client.get('pods"],
  ['an open template', `client.get(\`\${`],
  ['an open bracket', "client.get('pods', ["],
  ['a closing brace too many', "}}} client.get('pods', 'x')"],
  ['strange characters', 'client.get(\u0000\ud800 ☃)'],
])('source with %s does not make the search throw', (_, source) => {
  expect(() => callsIn(source)).not.toThrow()
})
