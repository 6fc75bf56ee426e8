import { EVERYTHING, Operator, type Resource, type ResourceLike, resource } from 'kopf'
import type { ConfigMap } from 'kopf/kubernetes'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { crd, crdsPath } from '../support/crds.ts'
import { type Body, useLab } from '../support/lab.ts'
import { pod, podTemplate } from '../support/objects.ts'

const lab = useLab()
const lastHandled = 'kopf.zalando.org/last-handled-configuration'

/** Part of names, so that they are unique in the cluster. */
const id = lab.group.slice(1, 9)
const kind = `Gizmo${id}`
const [plural, singular, shortcut, category] = [`gizmos${id}`, `gizmo${id}`, `gz${id}`, `all${id}`]
const { group } = lab
const elsewhere = `else-${group}`
const globals = `globals${id}`

beforeAll(async () => {
  await lab.install({ kind, plural, names: { singular, shortNames: [shortcut], categories: [category] } })
  await lab.install({ kind: `Global${id}`, plural: globals, scope: 'Cluster' })
})

afterAll(async () => {
  for (const name of [`${plural}.${group}`, `${globals}.${group}`]) await lab.call('DELETE', `${crdsPath}/${name}`)
})

async function create(path: string, body: object): Promise<Body> {
  const answer = await lab.call('POST', path, body)
  if (answer.status !== 201) throw new Error(`Cannot create: ${answer.text}`)
  return answer.body
}

function createGizmo(name: string): Promise<Body> {
  return create(lab.path('', plural), { apiVersion: `${group}/v1`, kind, metadata: { name } })
}

async function untilHandled(path: string): Promise<Body> {
  await lab.until(async () => lastHandled in ((await lab.call('GET', path)).body.metadata?.annotations ?? {}))
  return (await lab.call('GET', path)).body
}

describe('selectors', () => {
  const notations: readonly (readonly [string, ResourceLike])[] = [
    ['plural', plural],
    ['kind', kind],
    ['singular', singular],
    ['short name', shortcut],
    ['name.group', `${plural}.${group}`],
    ['name.version.group', `${plural}.v1.${group}`],
    ['[group, name]', [group, plural]],
    ['[group/version, name]', [`${group}/v1`, plural]],
    ['[group, version, name]', [group, 'v1', plural]],
    ['[group, kind]', [group, kind]],
    ['[name]', [plural]],
    ['{ group, plural }', { group, plural }],
    ['{ group, version, kind }', { group, version: 'v1', kind }],
    ['{ singular }', { singular }],
    ['{ shortcut }', { shortcut }],
    ['{ category }', { category }],
    ['a function', (one: Resource) => one.group === group && one.plural === plural],
    ['resource()', resource(`${group}/v1`, plural)],
  ]
  test.each(notations)('a resource can be selected by %s', async (_what, notation) => {
    const seen: string[] = []
    const kopf = new Operator()
    kopf.on.event(notation, ({ name, resource: { plural } }) => void seen.push(`${plural} ${name}`))
    await lab.start(kopf)
    const { metadata } = await create(lab.path('', plural), {
      apiVersion: `${group}/v1`,
      kind,
      metadata: { generateName: 'noted-' },
    })
    await lab.until(() => seen.includes(`${plural} ${metadata.name}`))
    expect(new Set(seen.map((each) => each.split(' ')[0]))).toEqual(new Set([plural]))
  })
})

test('EVERYTHING in a group selects all resources of the group', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create([group, EVERYTHING], ({ name, resource }) => void calls.push(`${resource.plural} ${name}`))
  await lab.start(kopf)
  await createGizmo('one-of-all')
  await lab.create('one-of-all')
  await untilHandled(lab.path('one-of-all'))
  await untilHandled(lab.path('one-of-all', plural))
  expect(calls).toEqual(expect.arrayContaining([`${plural} one-of-all`, 'widgets one-of-all']))
})

test('a function registered for several resources under one id is called for each of them', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const note = ({ name }: { name: string }) => void calls.push(name)
  kopf.on.create(lab.widgets, { id: 'note' }, note)
  kopf.on.create([group, plural], { id: 'note' }, note)
  await lab.start(kopf)
  await lab.create('shared-a')
  await createGizmo('shared-b')
  await untilHandled(lab.path('shared-a'))
  await untilHandled(lab.path('shared-b', plural))
  expect(calls).toEqual(expect.arrayContaining(['shared-a', 'shared-b']))
})

test('a name that matches several resources is not served, with a warning that lists them', async () => {
  const doubles = `doubles${id}`
  const install = async (inGroup: string) => {
    await create(crdsPath, crd({ group: inGroup, kind: `Double${id}`, plural: doubles }))
    await lab.until(async () => (await lab.call('GET', `/apis/${inGroup}/v1/${doubles}`)).status === 200)
    await lab.until(async () => (await lab.call('GET', `/apis/${inGroup}/v1`)).status === 200)
  }
  await install(group)
  await install(elsewhere)
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.event(doubles, ({ name }) => void seen.push(name))
  kopf.on.event([elsewhere, doubles], { id: 'exact' }, ({ name }) => void seen.push(`exact ${name}`))
  await lab.start(kopf)
  await lab.untilLogged('Ambiguous resources will not be served (try specifying API groups)')
  const [warning] = lab.logs.filter((line) => line.includes('Ambiguous'))
  expect(warning).toContain(`${doubles}.v1.${group}`)
  expect(warning).toContain(`${doubles}.v1.${elsewhere}`)
  await create(`/apis/${elsewhere}/v1/namespaces/${lab.namespace}/${doubles}`, {
    apiVersion: `${elsewhere}/v1`,
    kind: `Double${id}`,
    metadata: { name: 'double' },
  })
  await lab.until(() => seen.length > 0)
  await lab.stopAll()
  for (const each of [group, elsewhere]) await lab.call('DELETE', `${crdsPath}/${doubles}.${each}`)
  expect(seen).toContain('exact double')
})

test('cluster-scoped resources are served by a namespaced operator', async () => {
  const calls: unknown[] = []
  const kopf = new Operator()
  kopf.on.create([group, globals], ({ name, namespace }) => void calls.push([name, namespace]))
  kopf.on.delete([group, globals], ({ name }) => void calls.push(`delete ${name}`))
  await lab.start(kopf)
  const path = `/apis/${group}/v1/${globals}`
  await create(path, { apiVersion: `${group}/v1`, kind: `Global${id}`, metadata: { name: 'the-one' } })
  await untilHandled(`${path}/the-one`)
  await lab.call('DELETE', `${path}/the-one`)
  await lab.until(async () => (await lab.call('GET', `${path}/the-one`)).status === 404)
  expect(calls).toEqual([['the-one', undefined], 'delete the-one'])
  expect(lab.logs.some((line) => line.startsWith('[the-one] '))).toBe(true)
})

describe('built-in resources', () => {
  const base = `/api/v1/namespaces/${lab.namespace}`
  const apps = `/apis/apps/v1/namespaces/${lab.namespace}`
  const ConfigMaps = resource<ConfigMap>('v1', 'configmaps')

  test('ConfigMaps are handled, with their types', async () => {
    const diffs: unknown[] = []
    const kopf = new Operator()
    kopf.on.create(ConfigMaps, ({ body, patch }) => {
      const color: string | undefined = body.data?.['color']
      if (color !== undefined) patch.metadata.annotations['example.com/color'] = color
    })
    kopf.on.update(ConfigMaps, ({ diff }) => void diffs.push(diff))
    await lab.start(kopf)
    await create(`${base}/configmaps`, { metadata: { name: 'settings' }, data: { color: 'blue' } })
    const { metadata } = await untilHandled(`${base}/configmaps/settings`)
    expect(metadata.annotations?.['example.com/color']).toBe('blue')
    await lab.until(() => diffs.length === 1)
    const change = { data: { color: 'red' } }
    await lab.call('PATCH', `${base}/configmaps/settings`, change, 'application/merge-patch+json')
    await lab.until(() => diffs.length === 2)
    expect(diffs[1]).toEqual([['change', ['data', 'color'], 'blue', 'red']])
  })

  test('Pods are handled', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create('pods', ({ name, spec, patch }) => {
      calls.push(`${name} ${spec.containers[0]?.image}`)
      patch.status['message'] = 'seen'
    })
    kopf.on.delete('pods', ({ name }) => void calls.push(`delete ${name}`))
    await lab.start(kopf)
    await create(`${base}/pods`, pod('a-pod'))
    const { status } = await untilHandled(`${base}/pods/a-pod`)
    expect(status['message']).toBe('seen')
    await lab.call('DELETE', `${base}/pods/a-pod?gracePeriodSeconds=0`)
    await lab.until(() => calls.length > 1)
    await lab.until(async () => (await lab.call('GET', `${base}/pods/a-pod`)).status === 404)
    expect(calls).toEqual(['a-pod nginx', 'delete a-pod'])
  })

  test('Deployments are handled by any of their names', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.field('deploy', 'spec.replicas', ({ name, old, new: now }) => void calls.push(`${name} ${old}->${now}`))
    await lab.start(kopf)
    const selector = { matchLabels: { app: 'web' } }
    const spec = { replicas: 1, selector, template: podTemplate({ app: 'web' }) }
    await create(`${apps}/deployments`, { metadata: { name: 'web' }, spec })
    await untilHandled(`${apps}/deployments/web`)
    const change = { spec: { replicas: 2 } }
    await lab.call('PATCH', `${apps}/deployments/web`, change, 'application/merge-patch+json')
    await lab.until(() => calls.length === 2)
    expect(calls).toEqual(['web undefined->1', 'web 1->2'])
  })
})

test('a resource whose CRD is created later is served', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const late = `lates${id}`
  kopf.on.create([group, 'v1', late], ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.untilLogged('Unresolved resources cannot be served (try creating their CRDs)')
  await lab.install({ kind: `Late${id}`, plural: late })
  await create(lab.path('', late), { apiVersion: `${group}/v1`, kind: `Late${id}`, metadata: { name: 'finally' } })
  await untilHandled(lab.path('finally', late))
  await lab.stopAll()
  await lab.call('DELETE', `${crdsPath}/${late}.${group}`)
  expect(calls).toEqual(['finally'])
})

test('a resource whose CRD is deleted and created again is served, and its objects are new', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const phoenixes = `phoenixes${id}`
  const names = { kind: `Phoenix${id}`, plural: phoenixes }
  kopf.on.create([group, 'v1', phoenixes], ({ name }) => void calls.push(name))
  await lab.install(names)
  await lab.start(kopf)
  const path = lab.path('', phoenixes)
  const make = (name: string) => create(path, { apiVersion: `${group}/v1`, kind: names.kind, metadata: { name } })
  await make('first-life')
  await untilHandled(`${path}/first-life`)
  const definition = `${crdsPath}/${phoenixes}.${group}`
  await lab.call('DELETE', definition)
  await lab.until(async () => (await lab.call('GET', definition)).status === 404)
  await lab.elapse(0.5)
  await lab.install(names)
  await make('first-life')
  await make('second-life')
  await untilHandled(`${path}/first-life`)
  await untilHandled(`${path}/second-life`)
  await lab.stopAll()
  await lab.call('DELETE', definition)
  expect(calls.sort()).toEqual(['first-life', 'first-life', 'second-life'])
})

describe('namespaces', () => {
  const names = ['a', 'b', 'c-pr-1', 'c-pr-2'].map((suffix) => `${lab.namespace}-${suffix}`)
  const [a = '', b = '', pr1 = '', pr2 = ''] = names
  const late = `${lab.namespace}-late`

  beforeAll(async () => {
    for (const name of names) await create('/api/v1/namespaces', { metadata: { name } })
  })
  afterAll(async () => {
    for (const name of [...names, late]) await lab.call('DELETE', `/api/v1/namespaces/${name}`)
  })

  async function createIn(namespace: string, name: string): Promise<void> {
    const path = `/apis/${group}/v1/namespaces/${namespace}/widgets`
    await create(path, { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } })
  }

  async function served(options: object, test: string): Promise<string[]> {
    const seen = new Set<string>()
    const kopf = new Operator()
    kopf.on.event(lab.widgets, ({ name, namespace = '' }) => {
      if (name.startsWith(test)) seen.add(namespace)
    })
    await createIn(a, `${test}-before`)
    await lab.start(kopf, { ...options })
    for (const name of [lab.namespace, ...names]) await createIn(name, `${test}-after`)
    await lab.elapse(0.5)
    await lab.stopAll()
    return [...seen].sort()
  }

  const cases: readonly (readonly [string, object, readonly string[]])[] = [
    ['one by name', { namespaces: [a] }, [a]],
    ['several by name', { namespaces: [a, b] }, [a, b]],
    ['by a glob', { namespaces: [`${lab.namespace}-*`] }, names],
    ['by globs with exceptions', { namespaces: [`${lab.namespace}-*,!*-pr-*,*-pr-2`] }, [a, b, pr2]],
    ['by a glob and a name', { namespaces: [`${lab.namespace}-c-*`, a] }, [a, pr1, pr2]],
    ['by an expression', { namespaces: [new RegExp(`${lab.namespace}-[ab]`)] }, [a, b]],
    ['all', { clusterwide: true, namespaces: undefined }, [lab.namespace, ...names]],
  ]
  test.each(cases)('the operator serves exactly the selected namespaces: %s', async (what, options, expected) => {
    expect(await served(options, what.replaceAll(' ', '-'))).toEqual([...expected].sort())
  })

  test('a namespace that is created later is served if it matches', async () => {
    const seen: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, ({ name }) => void seen.push(name))
    await lab.start(kopf, { namespaces: [`${lab.namespace}-l*`] })
    await create('/api/v1/namespaces', { metadata: { name: late } })
    await createIn(late, 'in-late')
    await lab.until(() => seen.length > 0)
    expect(seen).toEqual(['in-late'])
  })
})
