/** Namespaces that appear and disappear: matched by patterns, and served until they are deleted. */
import { type DaemonStoppingReason, Operator, TemporaryError } from 'kopf'
import { afterAll, describe, expect, test } from 'vitest'
import { finalizer } from '../support/handled.ts'
import { useLab } from '../support/lab.ts'
import { RestrictedUser, rule, watching } from '../support/restricted-user.ts'

const lab = useLab()
const { group } = lab
const definitions = rule('apiextensions.k8s.io', ['customresourcedefinitions'], watching)
const made: string[] = []
const path = '/api/v1/namespaces'

afterAll(async () => {
  for (const name of made) await lab.call('DELETE', `${path}/${name}`)
})

async function add(suffix: string): Promise<string> {
  const name = `${lab.namespace}-${suffix}`
  await lab.until(async () => (await lab.call('POST', path, { metadata: { name } })).status === 201)
  made.push(name)
  return name
}

async function isGone(name: string): Promise<boolean> {
  return (await lab.call('GET', `${path}/${name}`)).status === 404
}

async function remove(name: string): Promise<void> {
  await lab.call('DELETE', `${path}/${name}`)
  await lab.until(() => isGone(name))
}

function widgets(namespace: string): string {
  return `/apis/${group}/v1/namespaces/${namespace}/widgets`
}

async function create(namespace: string, name: string): Promise<void> {
  const body = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } }
  const { status, text } = await lab.call('POST', widgets(namespace), body)
  if (status !== 201) throw new Error(`Cannot create: ${text}`)
}

test('namespaces are watched by their metadata only, with one watch for all patterns', async () => {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, () => {})
  const transport = lab.record()
  await lab.start(kopf, { transport, namespaces: [`${lab.namespace}-meta-*`, `!*-meta-*`] })
  const watches = transport.watches(path).filter((request) => request.path === path)
  expect(watches).toHaveLength(1)
  expect(watches[0]?.accept).toContain('as=PartialObjectMetadata')
})

test('namespaces given by name are not requested', async () => {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, () => {})
  const transport = lab.record()
  await lab.start(kopf, { transport, namespaces: [lab.namespace, `${lab.namespace}-not-there`] })
  expect(transport.requests.filter((request) => request.path === path)).toEqual([])
})

test('a terminating namespace is served until all its objects are deleted', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, ({ name }) => void calls.push(`create ${name}`))
  kopf.on.delete(lab.widgets, ({ name, retry }) => {
    if (retry < 2) throw new TemporaryError('not yet', { delay: 0.5 })
    calls.push(`delete ${name}`)
  })
  await lab.start(kopf, { namespaces: [`${lab.namespace}-end*`] })
  const name = await add('ending')
  await create(name, 'guarded')
  await lab.until(async () => {
    const { body } = await lab.call('GET', `${widgets(name)}/guarded`)
    return body.metadata?.finalizers?.includes(finalizer) === true && calls.length > 0
  })
  await remove(name)
  expect(calls).toEqual(['create guarded', 'delete guarded'])
})

test('a deleted namespace is forgotten, and served again when it is created again', async () => {
  const calls: string[] = []
  const reasons: (DaemonStoppingReason | undefined)[] = []
  const kopf = new Operator()
  const byName = kopf.index(lab.widgets, { id: 'byName' }, ({ name }) => ({ [name]: name }))
  kopf.on.create(lab.widgets, ({ name, uid }) => void calls.push(`${name} ${uid}`))
  kopf.daemon(lab.widgets, { finalizer: false }, async ({ stopped }) => {
    await stopped.wait()
    reasons.push(stopped.reason)
  })
  const transport = lab.record()
  await lab.start(kopf, { transport, namespaces: [`${lab.namespace}-pho*`] })
  const name = await add('phoenix')
  await create(name, 'one')
  await lab.until(() => byName.size === 1 && calls.length === 1)
  await remove(name)
  await lab.until(() => byName.size === 0 && reasons.length === 1)
  expect(reasons).toEqual(['resource-deleted'])
  await lab.elapse(1)
  const before = transport.requests.filter((request) => request.path.startsWith(widgets(name))).length
  await lab.elapse(lab.isReal ? 2 : 120)
  expect(transport.requests.filter((request) => request.path.startsWith(widgets(name)))).toHaveLength(before)
  await add('phoenix')
  await create(name, 'one')
  await lab.until(() => calls.length === 2)
  expect(new Set(calls).size).toBe(2)
})

test('a child that a handler may not create in a terminating namespace is retried and blocks nothing', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.delete(lab.widgets, async ({ name, client, retry }) => {
    if (retry > 2) return void calls.push(`given up ${name}`)
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'child' } }
    try {
      await client.create(body)
    } catch (error) {
      calls.push(`refused ${(error as { status: number }).status}`)
      throw new TemporaryError('the namespace is going', { delay: 0.2 })
    }
  })
  await lab.start(kopf, { namespaces: [`${lab.namespace}-chi*`] })
  const name = await add('childless')
  await create(name, 'parent')
  await lab.until(async () => {
    const { body } = await lab.call('GET', `${widgets(name)}/parent`)
    return body.metadata?.finalizers?.includes(finalizer) === true
  })
  await remove(name)
  expect(calls).toEqual(['refused 403', 'refused 403', 'refused 403', 'given up parent'])
})

describe('namespaces without list permission', () => {
  const rights = { cluster: [definitions, rule('', ['events'], ['create']), rule(group, ['widgets'], ['*'])] }

  test('namespaces given by name are served without list permission, with one warning, and patterns once it is granted', async () => {
    const operator = new RestrictedUser(lab, 'narrow')
    await operator.grant(rights)
    const other = await add('other')
    const seen: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, ({ name, namespace }) => void seen.push(`${namespace} ${name}`))
    const transport = await operator.connect()
    await lab.start(kopf, { transport, namespaces: [lab.namespace, `${lab.namespace}-oth*`] })
    await lab.create('by-name')
    await create(other, 'by-pattern')
    await lab.until(() => seen.includes(`${lab.namespace} by-name`))
    await lab.elapse(2)
    expect(seen).not.toContain(`${other} by-pattern`)
    const warned = () => lab.logs.filter((line) => line.includes('Not enough permissions to list namespaces'))
    expect(warned()).toHaveLength(1)
    await operator.grant({ cluster: [...rights.cluster, rule('', ['namespaces'], watching)] })
    await lab.until(() => seen.includes(`${other} by-pattern`))
    expect(warned()).toHaveLength(1)
    await lab.stopAll()
    await operator.close()
  })
})

test('only namespaces given by name are served with scanning.disabled, which is logged', async () => {
  const seen: string[] = []
  const kopf = new Operator({ settings: { scanning: { disabled: true } } })
  kopf.on.create(lab.widgets, ({ name, namespace }) => void seen.push(`${namespace} ${name}`))
  const transport = lab.record()
  await lab.start(kopf, { transport, namespaces: [lab.namespace, `${lab.namespace}-*`] })
  await lab.create('listed')
  await lab.until(() => seen.includes(`${lab.namespace} listed`))
  expect(transport.requests.filter((request) => request.path === path)).toEqual([])
  expect(lab.logs.filter((line) => line.includes('scanning.disabled'))).toHaveLength(1)
})

test('streams of many namespaces are opened at a limited rate', async () => {
  const count = lab.isReal ? 120 : 400
  const names = Array.from({ length: count }, (_, index) => `${lab.namespace}-many-${index}`)
  for (const name of names) await lab.call('POST', path, { metadata: { name } })
  made.push(...names)
  const seen = new Set<string>()
  const kopf = new Operator()
  kopf.on.event(lab.widgets, ({ namespace = '' }) => void seen.add(namespace))
  const transport = lab.record()
  let opening = 0
  let most = 0
  transport.meddle = async (request, send) => {
    if (!request.path.endsWith('/widgets')) return send()
    opening += 1
    most = Math.max(most, opening)
    try {
      return await send()
    } finally {
      opening -= 1
    }
  }
  await lab.start(kopf, { transport, namespaces: [`${lab.namespace}-many-*`] })
  expect(transport.watches('/widgets')).toHaveLength(count)
  expect(most).toBeLessThanOrEqual(50)
  await create(names.at(-1)!, 'in-the-last')
  await lab.until(() => seen.has(names.at(-1)!))
})
