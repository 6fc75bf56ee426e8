/**
 * Objects of others under the names of children, or with forged owner references. A user with the permission only to
 * create widgets chooses the names of the children by the names of the widgets, which must not affect objects of others.
 */
import { buildObject, Operator } from 'kopf'
import { Secret } from 'kopf/kubernetes'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { configMap, useReconcilingLab } from './reconciling-support.ts'

const { lab, reconciling } = useReconcilingLab()

const secret = (name: string, password: string) => buildObject(Secret, { metadata: { name }, stringData: { password } })

/** An operator that creates a Secret with the name of the widget, and one ConfigMap. */
function deputy({ adopt = false } = {}): Operator {
  const kopf = new Operator({ name: 'deputy' })
  kopf.reconcile(lab.widgets, { id: 'serve', owns: ['secrets', 'configmaps'], adopt }, ({ name, spec }) => ({
    children: [secret(name, spec['password'] ?? 'generated'), configMap(`${name}-settings`)],
  }))
  return kopf
}

function conditionOf(body: Body): Record<string, unknown> | undefined {
  const conditions: Array<Record<string, unknown>> = body.status?.['conditions'] ?? []
  return conditions.find(({ type }) => type === 'ChildrenApplied')
}

const passwordOf = (body: Body) => Buffer.from(body['data']['password'], 'base64').toString()

test('an object that exists under the name of a child is not written, adopted or deleted, and a condition names it', async () => {
  const victim = await reconciling.create(secret('payroll', 'of the payroll'), 'secrets')
  const transport = lab.record()
  await lab.start(deputy(), { transport })
  await lab.create('payroll', { spec: { password: 'of the author' } })
  const body = await lab.untilObject('payroll', (found) => conditionOf(found) !== undefined)
  expect(conditionOf(body)).toMatchObject({ status: 'False', reason: 'ChildRefused' })
  expect(conditionOf(body)?.['message']).toContain(
    'Cannot apply Secret "payroll": it exists, and this operator has not created it; name the child differently',
  )
  await reconciling.untilThere('payroll-settings')
  await lab.delete('payroll')
  await lab.untilGone('payroll')
  await reconciling.untilGone('payroll-settings')
  expect(await reconciling.get('payroll', 'secrets')).toEqual(victim)
  expect(transport.writes('/secrets').filter(({ method }) => method === 'DELETE')).toEqual([])
})

test('a child is created when the object that had its name is deleted', async () => {
  await reconciling.create(secret('busy', 'of others'), 'secrets')
  await lab.start(deputy())
  await lab.create('busy', {})
  await lab.untilObject('busy', (found) => conditionOf(found)?.['reason'] === 'ChildRefused')
  await reconciling.delete('busy', 'secrets')
  await reconciling.until('busy', (found) => passwordOf(found) === 'generated', 'secrets')
  await lab.untilObject('busy', (found) => conditionOf(found)?.['status'] === 'True')
})

test('an object that is created between the check and the write is not written, since the first apply only creates', async () => {
  const transport = lab.record()
  transport.meddle = async ({ method, path }, send) => {
    const isFirst =
      method === 'PATCH' && path.endsWith('/secrets/raced') && !(await reconciling.exists('raced', 'secrets'))
    if (isFirst) await reconciling.create(secret('raced', 'of others'), 'secrets')
    return send()
  }
  await lab.start(deputy(), { transport })
  await lab.create('raced', {})
  await lab.untilObject('raced', (found) => conditionOf(found)?.['reason'] === 'ChildRefused')
  const { metadata, ...rest } = await reconciling.get('raced', 'secrets')
  expect(passwordOf(rest as Body)).toBe('of others')
  expect(metadata).not.toHaveProperty('ownerReferences')
  expect(metadata).not.toHaveProperty('labels')
})

test('an object that has replaced a child is not written, since later applies carry the uid of the child', async () => {
  const transport = lab.record()
  await lab.start(deputy(), { transport })
  await lab.create('replaced', { spec: { password: 'first' } })
  await reconciling.untilThere('replaced', 'secrets')
  await settle(lab)
  transport.meddle = async ({ method, path, text }, send) => {
    if (method === 'PATCH' && path.endsWith('/secrets/replaced') && text.includes('second')) {
      transport.meddle = (_, sendOn) => sendOn()
      await reconciling.delete('replaced', 'secrets')
      await reconciling.create(secret('replaced', 'of others'), 'secrets')
    }
    return send()
  }
  await lab.patch('replaced', { spec: { password: 'second' } })
  await lab.untilObject('replaced', (found) => conditionOf(found)?.['reason'] === 'ChildRefused')
  expect(passwordOf(await reconciling.get('replaced', 'secrets'))).toBe('of others')
})

test('a child that is deleted before its next state is applied is created again', async () => {
  const transport = lab.record()
  await lab.start(deputy(), { transport })
  await lab.create('vanished', { spec: { password: 'first' } })
  await reconciling.untilThere('vanished', 'secrets')
  await settle(lab)
  transport.meddle = async ({ method, path, text }, send) => {
    if (method === 'PATCH' && path.endsWith('/secrets/vanished') && text.includes('second')) {
      transport.meddle = (_, sendOn) => sendOn()
      await reconciling.delete('vanished', 'secrets')
    }
    return send()
  }
  await lab.patch('vanished', { spec: { password: 'second' } })
  await reconciling.until('vanished', (found) => passwordOf(found) === 'second', 'secrets')
  expect(conditionOf(await lab.get('vanished'))).toBeUndefined()
})

test('a child without its owner reference is adopted again after a restart, since its annotation names its owner', async () => {
  const first = await lab.start(deputy())
  await lab.create('stripped', {})
  await reconciling.untilThere('stripped', 'secrets')
  await settle(lab)
  await lab.stop(first)
  await reconciling.patch('stripped', { metadata: { ownerReferences: null } }, 'secrets')
  await lab.start(deputy())
  await reconciling.until('stripped', ({ metadata }) => metadata.ownerReferences?.length === 1, 'secrets')
})

test('an existing object is adopted with `adopt`, unless another object controls it', async () => {
  await reconciling.create(secret('wanted', 'of others'), 'secrets')
  const { metadata } = await reconciling.create(configMap('owner'))
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: metadata.uid!, controller: true }
  await reconciling.create(configMap('wanted-settings', {}, { ownerReferences: [owner] }))
  await lab.start(deputy({ adopt: true }))
  await lab.create('wanted', {})
  const adopted = await reconciling.until('wanted', (found) => passwordOf(found) === 'generated', 'secrets')
  expect(adopted.metadata.ownerReferences).toEqual([expect.objectContaining({ kind: 'Widget', name: 'wanted' })])
  await lab.untilLogged('Cannot apply ConfigMap "wanted-settings": another object controls it')
})

test('a new child costs one request, an unchanged child none, and a changed child one apply with its uid', async () => {
  const transport = lab.record()
  await lab.start(deputy(), { transport })
  await lab.create('counted', { spec: { password: 'first' } })
  const { metadata } = await reconciling.untilThere('counted', 'secrets')
  await settle(lab)
  await lab.patch('counted', { spec: { password: 'second' } })
  await reconciling.until('counted', (found) => passwordOf(found) === 'second', 'secrets')
  await settle(lab)
  const asked = transport.requests.filter(({ path, query }) => path.includes('/secrets/') || query.has('fieldSelector'))
  expect(asked.map(({ method }) => method)).toEqual(['PATCH', 'PATCH'])
  expect(asked[1]?.body).toMatchObject({ metadata: { uid: metadata.uid } })
})

/** The namespace of another tenant that may write ConfigMaps there and knows the uid of a widget. */
const elsewhere = `${lab.namespace}-tenant`

beforeEach(async () => {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: elsewhere } }
  await lab.call('POST', '/api/v1/namespaces', namespace)
})

afterEach(async () => {
  const path = `/api/v1/namespaces/${elsewhere}/configmaps/forged`
  await lab.call('PATCH', path, { metadata: { finalizers: null } }, 'application/merge-patch+json')
  await lab.call('DELETE', path)
})

test('an object in another namespace with a forged owner reference is not a child, triggers no call, and does not block the deletion', async () => {
  const calls: number[] = []
  const kopf = new Operator({ name: 'deputy' })
  kopf.reconcile(lab.widgets, { id: 'serve', owns: ['configmaps'], cleanup: true }, ({ name, children, deleting }) => {
    calls.push(children.size)
    return deleting ? undefined : { children: [configMap(`${name}-settings`)] }
  })
  await lab.start(kopf, { namespaces: [lab.namespace, elsewhere] })
  const { metadata } = await lab.create('besieged', {})
  await reconciling.untilThere('besieged-settings')
  await settle(lab)
  calls.length = 0
  const owner = {
    apiVersion: `${lab.group}/v1`,
    kind: 'Widget',
    name: 'besieged',
    uid: metadata.uid!,
    controller: true,
  }
  const labels = { 'kopf.dev/reconciler': 'deputy.serve' }
  const forged = configMap('forged', {}, { labels, ownerReferences: [owner], finalizers: ['example.com/never'] })
  const made = await lab.call('POST', `/api/v1/namespaces/${elsewhere}/configmaps`, forged)
  expect(made.status).toBe(201)
  await settle(lab)
  expect(calls).toEqual([])
  await lab.delete('besieged')
  await lab.untilGone('besieged')
  // The reconciler is called for the deletion with its own child, and again without it.
  expect(Math.max(...calls)).toBe(1)
})
