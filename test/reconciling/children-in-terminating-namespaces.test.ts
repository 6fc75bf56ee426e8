/** Terminating namespaces: the API server accepts no new children there, and the operator does not keep trying. */
import { Operator } from 'kopf'
import { afterEach, beforeAll, expect, test } from 'vitest'
import type { Body } from '../support/lab.ts'
import { configMap, useReconcilingLab } from './reconciling-support.ts'

const { lab } = useReconcilingLab()
const namespace = `${lab.namespace}-doomed`
const namespacePath = `/api/v1/namespaces/${namespace}`
const realm = `/apis/${lab.group}/v1/realms/north`
const holding = ['example.com/holds']
const mergePatch = 'application/merge-patch+json'

beforeAll(() => lab.install({ kind: 'Realm', scope: 'Cluster', subresources: { status: {} } }))

afterEach(async () => {
  await lab.stopAll()
  await lab.call('DELETE', realm)
  await lab.call('DELETE', namespacePath)
  await letGo()
})

function maps(name: string = ''): string {
  return `${namespacePath}/configmaps${name === '' ? '' : `/${name}`}`
}

async function createNamespace(): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
  await lab.until(async () => (await lab.call('POST', '/api/v1/namespaces', body)).status === 201)
}

/** Creates an object with a finalizer that keeps the namespace terminating. */
async function hold(): Promise<void> {
  await lab.call('POST', maps(), configMap('holder', {}, { finalizers: holding }))
}

async function letGo(): Promise<void> {
  await lab.call('PATCH', maps('holder'), { metadata: { finalizers: null } }, mergePatch)
  await lab.until(async () => (await lab.call('GET', namespacePath)).status === 404)
}

const isThere = async (path: string) => (await lab.call('GET', path)).status === 200

function conditionOf(body: Body): Record<string, string> | undefined {
  const conditions: Array<Record<string, string>> = body.status?.['conditions'] ?? []
  return conditions.find(({ type }) => type === 'ChildrenApplied')
}

test('a child in a terminating namespace is requested less and less often, is logged, and is created once it is possible', async () => {
  const kopf = new Operator()
  kopf.reconcile([lab.group, 'v1', 'realms'], { owns: ['configmaps'] }, () => {
    return { children: [configMap('settings', {}, { namespace })] }
  })
  const transport = lab.record()
  await createNamespace()
  await hold()
  await lab.start(kopf, { transport, clusterwide: true })
  const object = { apiVersion: `${lab.group}/v1`, kind: 'Realm', metadata: { name: 'north' }, spec: {} }
  await lab.call('POST', `/apis/${lab.group}/v1/realms`, object)
  await lab.until(() => isThere(maps('settings')))
  await lab.call('DELETE', namespacePath)
  await lab.untilLogged('Cannot apply ConfigMap "settings"')
  await lab.until(async () => conditionOf((await lab.call('GET', realm)).body) !== undefined)
  const condition = conditionOf((await lab.call('GET', realm)).body)
  const message = `Cannot apply ConfigMap "settings" in the namespace "${namespace}": its namespace is being deleted`
  expect(condition).toMatchObject({ status: 'False', reason: 'ChildRefused', message })
  const before = transport.writes('settings').length
  await lab.elapse(lab.isReal ? 4 : 60)
  expect(transport.writes('settings').length - before).toBeLessThan(lab.isReal ? 5 : 9)
  // The condition is written once.
  expect(transport.writes('realms/north').length).toBeLessThan(3)
  await letGo()
  await createNamespace()
  await lab.until(() => isThere(maps('settings')))
  await lab.until(async () => conditionOf((await lab.call('GET', realm)).body)?.['status'] === 'True')
}, 90_000)

test('an object in a terminating namespace is cleaned up and deleted, and no child is created for it', async () => {
  const kopf = new Operator()
  const calls: boolean[] = []
  kopf.reconcile(lab.widgets, { owns: ['configmaps'], cleanup: true }, ({ deleting }) => {
    calls.push(deleting)
    return deleting ? undefined : { children: [configMap('own')] }
  })
  const transport = lab.record()
  await createNamespace()
  await hold()
  await lab.start(kopf, { transport, namespaces: [namespace] })
  const path = `/apis/${lab.group}/v1/namespaces/${namespace}/widgets`
  const object = { apiVersion: `${lab.group}/v1`, kind: 'Widget', metadata: { name: 'one' }, spec: {} }
  await lab.call('POST', path, object)
  await lab.until(() => isThere(maps('own')))
  await lab.call('DELETE', namespacePath)
  await lab.until(async () => !(await isThere(`${path}/one`)))
  const calledFor = calls.length
  await lab.elapse(lab.isReal ? 2 : 60)
  expect(calls.at(-1)).toBe(true)
  expect(calls.length).toBe(calledFor)
  // The child may be deleted before its owner, and requested once more.
  expect(transport.writes('/configmaps/own').length).toBeLessThan(5)
  await letGo()
}, 90_000)
