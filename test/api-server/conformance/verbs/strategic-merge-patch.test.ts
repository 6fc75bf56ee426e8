/** Changing an object by a strategic merge patch: lists by their merge keys, and directives that begin with a dollar. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { crdsPath } from '../../../support/crds.ts'
import { expectFailure, expectStatus, warningsOf } from '../../../support/expectations.ts'
import { modified } from '../../../support/messages.ts'
import { configMap, object, pod } from '../../../support/objects.ts'

const cluster = useCluster()
const deployments = () => cluster.grouped('apps/v1', 'deployments')
const configMaps = () => cluster.core('configmaps')

let count = 0
const fresh = (): string => `object-${++count}`

const container = (name: string, rest: Tree = {}): Tree => ({ name, image: `${name}:1`, ...rest })

async function createDeployment(template: Tree = {}, rest: Tree = {}, metadata: Tree = {}): Promise<string> {
  const name = fresh()
  const spec = {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [container('a')], ...template } },
    ...rest,
  }
  expectStatus(
    await cluster.api.post(deployments(), object('apps/v1', 'Deployment', { name, ...metadata }, { spec })),
    201,
  )
  return `${deployments()}/${name}`
}

async function createConfigMap(metadata: Tree = {}, rest: Tree = {}): Promise<string> {
  const name = fresh()
  expectStatus(await cluster.api.post(configMaps(), configMap({ name, ...metadata }, rest)), 201)
  return `${configMaps()}/${name}`
}

async function patched(path: string, patch: unknown): Promise<Body> {
  return expectStatus(await cluster.api.strategicPatch(path, patch), 200)
}

const template = (spec: Tree): Tree => ({ spec: { template: { spec } } })
const templateOf = (body: Body): Tree => (body.spec['template'] as Tree)['spec'] as Tree
const containersOf = (body: Body): Tree[] => templateOf(body)['containers'] as Tree[]
const namesOf = (list: unknown): unknown[] => (list as Tree[]).map(({ name }) => name)

describe('lists of objects in a strategic merge patch', () => {
  test('a strategic merge patch merges a list by its merge key, and puts new elements first', async () => {
    const path = await createDeployment({ containers: [container('a', { args: ['x'] }), container('b')] })
    const body = await patched(
      path,
      template({
        containers: [
          { name: 'c', image: 'c:1' },
          { name: 'a', image: 'a:2' },
        ],
      }),
    )
    expect(namesOf(containersOf(body))).toEqual(['c', 'a', 'b'])
    expect(containersOf(body)[1]).toMatchObject({ image: 'a:2', args: ['x'] })
  })

  test.each([
    ['in the order of the patch', ['a', 'b', 'c', 'd'], ['d', 'b'], ['a', 'c', 'd', 'b']],
    ['new elements at their place in the patch', ['a', 'b'], ['b', 'new'], ['a', 'b', 'new']],
    ['new elements before the elements that they precede', ['a', 'b', 'c'], ['new', 'c'], ['new', 'a', 'b', 'c']],
    ['only new elements before the old ones', ['a', 'b'], ['y', 'x'], ['y', 'x', 'a', 'b']],
  ])('a strategic merge patch orders the elements of a list: %s', async (_, before, patch, after) => {
    const path = await createDeployment({ containers: before.map((name) => container(name)) })
    const body = await patched(path, template({ containers: patch.map((name) => container(name)) }))
    expect(namesOf(containersOf(body))).toEqual(after)
  })

  test('a strategic merge patch merges lists within list elements by their own keys', async () => {
    const env = [
      { name: 'ONE', value: '1' },
      { name: 'TWO', value: '2' },
    ]
    const ports = [{ containerPort: 80 }, { containerPort: 443, name: 'https' }]
    const path = await createDeployment({ containers: [container('a', { env, ports, args: ['x', 'y'] })] })
    const change = {
      name: 'a',
      env: [{ name: 'TWO', value: 'two' }],
      ports: [{ containerPort: 80, name: 'http' }],
      args: ['z'],
    }
    const [only] = containersOf(await patched(path, template({ containers: [change] })))
    expect(only!['env']).toEqual([
      { name: 'ONE', value: '1' },
      { name: 'TWO', value: 'two' },
    ])
    expect(only!['ports']).toEqual([
      { containerPort: 80, name: 'http', protocol: 'TCP' },
      { containerPort: 443, name: 'https', protocol: 'TCP' },
    ])
    expect(only!['args']).toEqual(['z'])
  })

  test('a strategic merge patch replaces a list without a patch strategy', async () => {
    const tolerations = [{ key: 'a', operator: 'Exists' }]
    const path = await createDeployment({ tolerations })
    const body = await patched(path, template({ tolerations: [{ key: 'b', operator: 'Exists' }] }))
    expect(templateOf(body)['tolerations']).toEqual([{ key: 'b', operator: 'Exists' }])
  })

  test('a strategic merge patch removes elements with $patch delete', async () => {
    const path = await createDeployment({ containers: ['a', 'b', 'c'].map((name) => container(name)) })
    const containers = [
      { $patch: 'delete', name: 'b' },
      { $patch: 'delete', name: 'none' },
      { name: 'c', image: 'c:2' },
    ]
    const body = await patched(path, template({ containers }))
    expect(containersOf(body).map(({ image }) => image)).toEqual(['a:1', 'c:2'])
  })

  test('a strategic merge patch replaces a list with $patch replace', async () => {
    const path = await createDeployment({ containers: ['a', 'b'].map((name) => container(name)) })
    const body = await patched(path, template({ containers: [{ $patch: 'replace' }, container('z'), container('y')] }))
    expect(namesOf(containersOf(body))).toEqual(['z', 'y'])
  })

  test('a strategic merge patch orders a list by $setElementOrder', async () => {
    const path = await createDeployment({ containers: ['a', 'b', 'c'].map((name) => container(name)) })
    const order = (...names: string[]): Tree => ({ '$setElementOrder/containers': names.map((name) => ({ name })) })
    const turned = await patched(path, template(order('c', 'a')))
    expect(namesOf(containersOf(turned))).toEqual(['b', 'c', 'a'])
    const grown = await patched(path, template({ ...order('a', 'new', 'b'), containers: [container('new')] }))
    expect(namesOf(containersOf(grown))).toEqual(['c', 'a', 'new', 'b'])
  })

  test('a strategic merge patch deletes a list with null', async () => {
    const path = await createDeployment({ volumes: [{ name: 'v', emptyDir: {} }], nodeSelector: { a: 'b' } })
    const body = await patched(path, template({ volumes: null, nodeSelector: null, hostAliases: null }))
    expect(templateOf(body)['volumes']).toBeUndefined()
    expect(templateOf(body)['nodeSelector']).toBeUndefined()
  })
})

describe('lists of scalars in a strategic merge patch', () => {
  const finalizers = ['example.com/a', 'example.com/b', 'example.com/c']

  test.each<[string, Tree, string[]]>([
    ['is merged as a union', { finalizers: ['example.com/d', 'example.com/b'] }, ['d', 'a', 'b', 'c']],
    [
      'loses the elements of $deleteFromPrimitiveList',
      { '$deleteFromPrimitiveList/finalizers': ['example.com/b'] },
      ['a', 'c'],
    ],
    [
      'is ordered by $setElementOrder',
      {
        '$setElementOrder/finalizers': ['example.com/c', 'example.com/d', 'example.com/a'],
        finalizers: ['example.com/d'],
        '$deleteFromPrimitiveList/finalizers': ['example.com/b'],
      },
      ['c', 'd', 'a'],
    ],
    ['is emptied by null', { finalizers: null }, []],
  ])('a list of scalars in a strategic merge patch %s', async (_, metadata, left) => {
    const path = await createConfigMap({ finalizers })
    const body = await patched(path, { metadata })
    expect(body.metadata.finalizers ?? []).toEqual(left.map((name) => `example.com/${name}`))
    expectStatus(await cluster.api.mergePatch(path, { metadata: { finalizers: null } }), 200)
  })

  test('a strategic merge patch merges owner references by their uids', async () => {
    const owner = (uid: string, rest: Tree = {}): Tree => ({ apiVersion: 'v1', kind: 'Node', name: 'x', uid, ...rest })
    // The owners do not exist: the finalizer keeps the garbage collector from deleting the object.
    const path = await createConfigMap({ ownerReferences: [owner('one'), owner('two')], finalizers: ['example.com/a'] })
    const body = await patched(path, {
      metadata: {
        ownerReferences: [
          { uid: 'two', controller: true },
          { uid: 'one', $patch: 'delete' },
        ],
      },
    })
    expect(body.metadata.ownerReferences).toEqual([owner('two', { controller: true })])
    await patched(path, { metadata: { finalizers: null } })
  })
})

describe('objects in a strategic merge patch', () => {
  test('a strategic merge patch merges an object, and removes fields that are null', async () => {
    const path = await createConfigMap({ labels: { keep: '1', drop: '1' } }, { data: { a: '1', b: '2' } })
    const body = await patched(path, { metadata: { labels: { drop: null, add: '1' } }, data: { b: null, none: null } })
    expect(body.metadata.labels).toEqual({ keep: '1', add: '1' })
    expect(body['data']).toEqual({ a: '1' })
  })

  test('a strategic merge patch replaces or deletes an object with $patch', async () => {
    const path = await createConfigMap({ labels: { a: '1' } }, { data: { a: '1', b: '2' } })
    expect((await patched(path, { data: { $patch: 'replace', c: '3' } }))['data']).toEqual({ c: '3' })
    const body = await patched(path, { data: { $patch: 'delete' }, metadata: { labels: { $patch: 'delete' } } })
    expect(body['data']).toBeUndefined()
    expect(body.metadata.labels).toBeUndefined()
  })

  test('a strategic merge patch keeps only the keys of $retainKeys', async () => {
    const path = await createDeployment()
    const strategy = { $retainKeys: ['type'], type: 'Recreate' }
    expect((await patched(path, { spec: { strategy } })).spec['strategy']).toEqual({ type: 'Recreate' })
    const volumes = [{ name: 'v', emptyDir: {} }]
    await patched(path, template({ volumes }))
    const changed = { name: 'v', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }
    const body = await patched(path, template({ volumes: [changed] }))
    expect(templateOf(body)['volumes']).toEqual([{ name: 'v', configMap: { name: 'c', defaultMode: 420 } }])
  })

  test('a strategic merge patch does not change kind and apiVersion', async () => {
    const path = await createConfigMap()
    const body = await patched(path, { apiVersion: 'v9', kind: 'Secret', data: { a: 'b' } })
    expect(body).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { a: 'b' } })
  })

  test.each([
    '{}',
    'null',
    '{"data":{"none":null}}',
    '{"$setElementOrder/x":1}'.replace('$setElementOrder/x', 'data2'),
  ])('a strategic merge patch that changes nothing keeps the resourceVersion: %s', async (patch) => {
    const path = await createConfigMap({}, { data: { a: 'b' } })
    const before = (await cluster.api.get(path)).body
    expect(await patched(path, patch)).toEqual(before)
  })
})

describe('refused strategic merge patches', () => {
  const unreadable = (answer: Answer, shown: string, why: string): void => {
    const message = `Invalid value: ${JSON.stringify(shown)}: ${why}`
    expectFailure(answer, 422, 'Invalid', ` "" is invalid: patch: ${message}`, {
      causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }],
    })
  }

  test.each([
    ['{"metadata":', 400, 'BadRequest', 'unexpected end of JSON input'],
    ['[]', 400, 'BadRequest', 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['"x"', 400, 'BadRequest', 'json: cannot unmarshal string into Go value of type map[string]interface {}'],
    ['{"metadata":{"labels":{"$retainKeys":["a"],"b":"c"}}}', 400, 'BadRequest', 'invalid patch format of retainKeys'],
    ['{"data":{"$retainKeys":5}}', 400, 'BadRequest', 'invalid patch format of retainKeys'],
    [
      '{"metadata":{"$deleteFromPrimitiveListX/finalizers":[]}}',
      400,
      'BadRequest',
      'invalid patch format of primitive list',
    ],
    [
      '{"metadata":{"$setElementOrderX/finalizers":[]}}',
      400,
      'BadRequest',
      'invalid patch format of setElementOrder list',
    ],
    [
      '{"metadata":{"$setElementOrder/finalizers":{}}}',
      500,
      '',
      'expected a []interface {}, but received a map[string]interface {}',
    ],
    [
      '{"metadata":{"$setElementOrder/finalizers":null}}',
      500,
      '',
      'expected a []interface {}, but received a %!s(<nil>)',
    ],
    [
      '{"metadata":{"$setElementOrder/nonsense":[]}}',
      500,
      '',
      'unable to find api field in struct ObjectMeta for the json field "nonsense"',
    ],
    ['{"metadata":{"$setElementOrder/generateName":[]}}', 500, '', 'expected slice or array type, but got: struct'],
    ['{"metadata":{"finalizers":[1]}}', 500, '', 'list element types are not identical: [[example.com/a] [1]]'],
    [
      '{"metadata":{"finalizers":[null,{"a":[1.5,true]}]}}',
      500,
      '',
      'list element types are not identical: [[example.com/a] [<nil> map[a:[1.5 true]]]]',
    ],
    [
      '{"metadata":{"$setElementOrder/finalizers":["x"],"finalizers":["y"]}}',
      500,
      '',
      "The order in patch list:\n[y]\n doesn't match $setElementOrder list:\n[x]\n",
    ],
    [
      '{"metadata":{"ownerReferences":[{"name":"b"}]}}',
      500,
      '',
      'map: map[name:b] does not contain declared merge key: uid',
    ],
    [
      '{"metadata":{"ownerReferences":[{"$patch":"delete"}]}}',
      500,
      '',
      'map: map[$patch:delete] does not contain declared merge key: uid',
    ],
    [
      '{"metadata":{"ownerReferences":[{"$patch":"merge","uid":"x"}]}}',
      500,
      '',
      'merging lists cannot yet be specified in the patch',
    ],
    [
      '{"metadata":{"ownerReferences":[{"$patch":"odd","uid":"x"}]}}',
      500,
      '',
      'unknown patch type: odd in map: map[$patch:odd uid:x]',
    ],
    ['{"metadata":{"$setElementOrder/ownerReferences":["x"]}}', 500, '', 'value for key 0 is not a map'],
    ['{"data":{"$patch":"merge"}}', 500, '', 'unknown patch type: merge in map: map[$patch:merge]'],
    ['{"data":{"$patch":7}}', 500, '', 'unknown patch type: %!s(int64=7) in map: map[$patch:7]'],
  ])('a strategic merge patch is refused: %s', async (patch, code, reason, message) => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'x', uid: 'x' }]
    const path = await createConfigMap(
      { labels: { a: 'b' }, finalizers: ['example.com/a'], ownerReferences },
      { data: { a: 'b' } },
    )
    expectFailure(await cluster.api.strategicPatch(path, patch), code, reason, message)
    expectStatus(await cluster.api.mergePatch(path, { metadata: { finalizers: null } }), 200)
  })

  test.each([
    [{ metadata: { labels: { a: 5 } } }, 'map[metadata:map[labels:map[a:5]]]', 'cannot convert int64 to string'],
    [{ metadata: { labels: { a: 1.5 } } }, 'map[metadata:map[labels:map[a:1.5]]]', 'unrecognized type: string'],
    [{ metadata: { labels: [] } }, 'map[metadata:map[labels:[]]]', 'cannot restore map from slice'],
    [{ metadata: { finalizers: 'x' } }, 'map[metadata:map[finalizers:x]]', 'cannot restore slice from string'],
    [{ metadata: 5 }, 'map[metadata:5]', 'cannot restore struct from: int64'],
    [{ metadata: { generation: '5' } }, 'map[metadata:map[generation:5]]', 'unrecognized type: int64'],
    [{ immutable: 'yes' }, 'map[immutable:yes]', 'unrecognized type: bool'],
    [
      { binaryData: { a: '?' } },
      'map[binaryData:map[a:?]]',
      'error decoding from json: illegal base64 data at input byte 0',
    ],
    [
      { metadata: { creationTimestamp: 7 } },
      'map[metadata:map[creationTimestamp:7]]',
      'json: cannot unmarshal number into Go value of type string',
    ],
  ])('a strategic merge patch with an undecodable result is refused: %j', async (patch, shown, why) => {
    const path = await createConfigMap()
    unreadable(await cluster.api.strategicPatch(path, patch), shown, why)
  })

  test('a strategic merge patch refuses unknown fields with fieldValidation Strict, and warns otherwise', async () => {
    const path = await createConfigMap({}, { data: { a: 'b' } })
    const patch = '{"zoo":1,"ape":{"b":null},"metadata":{"odd":true,"labels":{"a":"1","a":"2"}}}'
    const problems = [
      'duplicate field "metadata.labels.a"',
      'unknown field "ape"',
      'unknown field "metadata.odd"',
      'unknown field "zoo"',
    ]
    const strict = await cluster.api.strategicPatch(path, patch, { query: { fieldValidation: 'Strict' } })
    const shown = 'map[ape:map[] metadata:map[labels:map[a:2] odd:true] zoo:1]'
    unreadable(strict, shown, `strict decoding error: ${problems.join(', ')}`)
    expect(warningsOf(await cluster.api.strategicPatch(path, patch))).toEqual(problems)
    const ignored = await cluster.api.strategicPatch(path, patch, { query: { fieldValidation: 'Ignore' } })
    expect(warningsOf(ignored)).toEqual([])
  })

  test('a strategic merge patch with an old resourceVersion or another name is refused', async () => {
    const path = await createConfigMap()
    const name = path.split('/').at(-1)!
    const conflict = await cluster.api.strategicPatch(path, { metadata: { resourceVersion: '1' } })
    const message = `Operation cannot be fulfilled on configmaps "${name}": ${modified}`
    expectFailure(conflict, 409, 'Conflict', message, { name, kind: 'configmaps' })
    const renamed = await cluster.api.strategicPatch(path, { metadata: { name: 'other' } })
    const mismatch = `the name of the object (other) does not match the name on the URL (${name})`
    expectFailure(renamed, 400, 'BadRequest', mismatch)
    const emptied = await cluster.api.strategicPatch(path, { $patch: 'delete' })
    const nameless = `the name of the object (${name} based on URL) was undeterminable: name must be provided`
    expectFailure(emptied, 400, 'BadRequest', nameless)
  })

  test('a strategic merge patch of a missing object is answered with 404', async () => {
    const answer = await cluster.api.strategicPatch(`${configMaps()}/none`, {})
    expectFailure(answer, 404, 'NotFound', 'configmaps "none" not found', { name: 'none', kind: 'configmaps' })
  })
})

describe('strategic merge patches of subresources', () => {
  test('a strategic merge patch merges the conditions of a status by their types', async () => {
    const path = cluster.core('pods')
    const name = fresh()
    expectStatus(await cluster.api.post(path, pod(name)), 201)
    const conditions = [
      { type: 'One', status: 'True' },
      { type: 'Two', status: 'True' },
    ]
    await patched(`${path}/${name}/status`, { status: { phase: 'Running', conditions } })
    const change = { status: { conditions: [{ type: 'Two', status: 'False' }] }, spec: { nodeName: 'ignored' } }
    const body = await patched(`${path}/${name}/status`, change)
    const shown = (body.status['conditions'] as Tree[]).map(({ type, status }) => [type, status])
    expect(shown).toEqual([
      ['One', 'True'],
      ['Two', 'False'],
    ])
    expect(body.status['phase']).toBe('Running')
  })

  test('a strategic merge patch changes the scale subresource', async () => {
    const path = await createDeployment()
    const body = await patched(`${path}/scale`, { spec: { replicas: 3 } })
    expect(body).toMatchObject({ kind: 'Scale', spec: { replicas: 3 } })
    expect((await cluster.api.get(path)).body.spec['replicas']).toBe(3)
    const answer = await cluster.api.strategicPatch(`${path}/scale`, { spec: { replicas: 'x' } })
    expect(answer.status).toBe(422)
    expect(answer.body['message']).toContain('unrecognized type: int32')
  })
})

describe('strategic merge patches of custom kinds', () => {
  beforeAll(async () => {
    const properties = { spec: { type: 'object', properties: { size: { type: 'integer' } } } }
    await cluster.install({ kind: 'Widget', schema: { type: 'object', properties } })
  })

  test.each(['', '/status', '/scale'])(
    'the API server answers 415 to a strategic merge patch of a custom object (path suffix "%s")',
    async (subresource) => {
      const path = cluster.custom('widgets')
      const name = fresh()
      expectStatus(await cluster.api.post(path, object(`${cluster.group}/v1`, 'Widget', name)), 201)
      const answer = await cluster.api.strategicPatch(`${path}/${name}${subresource}`, {})
      expect(answer.status).toBe(subresource === '' ? 415 : 404)
      if (subresource !== '') return
      const known = 'application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml'
      const message = `the body of the request was in an unknown format - accepted media types include: ${known}`
      expectFailure(answer, 415, 'UnsupportedMediaType', message)
    },
  )

  test('a strategic merge patch changes a CRD', async () => {
    const path = `${crdsPath}/widgets.${cluster.group}`
    const labelled = await patched(path, { metadata: { labels: { a: 'b' }, finalizers: [] } })
    expect(labelled.metadata.labels).toEqual({ a: 'b' })
    const { versions } = labelled.spec as { versions: Tree[] }
    const renewed = await patched(path, { spec: { versions: [{ ...versions[0], deprecated: true }] } })
    expect((renewed.spec as { versions: Tree[] }).versions).toEqual([{ ...versions[0], deprecated: true }])
  })
})

test('a strategic merge patch can change thousands of list elements', async () => {
  const names = Array.from({ length: 4000 }, (_, index) => ({ name: `N${index}`, value: '1' }))
  const path = await createDeployment({ containers: [container('a', { env: names })] })
  const env = [...names.slice(2000), ...names.slice(0, 2000)].map(({ name }) => ({ name, value: '2' }))
  const gone = names.filter((_, index) => index % 2 === 0).map(({ name }) => ({ name, $patch: 'delete' }))
  const order = env.filter(({ name }) => Number(name.slice(1)) % 2 === 1)
  const change = { name: 'a', '$setElementOrder/env': order, env: [...order, ...gone] }
  const body = await patched(path, template({ containers: [change] }))
  expect(namesOf(containersOf(body)[0]!['env'])).toEqual(namesOf(order))
})
