/**
 * Objects that are not the operator's, under the names of its children, or with forged owner references. An author who may only
 * create widgets chooses their names, and thereby the names of children: that must not reach objects of others.
 */
import { Operator } from 'kopf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { configMap, useNursery } from './support.ts'

const { lab, nursery } = useNursery()

const secret = (name: string, password: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: { password },
})

/** Each widget has a Secret of its own name, and one ConfigMap. */
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
  const victim = await nursery.create(secret('payroll', 'of the payroll'), 'secrets')
  const transport = lab.record()
  await lab.start(deputy(), { transport })
  await lab.create('payroll', { spec: { password: 'of the author' } })
  const body = await lab.untilObject('payroll', (found) => conditionOf(found) !== undefined)
  expect(conditionOf(body)).toMatchObject({ status: 'False', reason: 'ChildRefused' })
  expect(conditionOf(body)?.['message']).toContain(
    'Cannot apply Secret "payroll": it exists, and this operator has not created it; name the child differently',
  )
  await nursery.untilThere('payroll-settings')
  await lab.delete('payroll')
  await lab.untilGone('payroll')
  await nursery.untilGone('payroll-settings')
  expect(await nursery.get('payroll', 'secrets')).toEqual(victim)
  expect(transport.writes('/secrets').filter(({ method }) => method === 'DELETE')).toEqual([])
})

test('the child is made when the object that had its name is gone', async () => {
  await nursery.create(secret('busy', 'of others'), 'secrets')
  await lab.start(deputy())
  await lab.create('busy', {})
  await lab.untilObject('busy', (found) => conditionOf(found)?.['reason'] === 'ChildRefused')
  await nursery.delete('busy', 'secrets')
  await nursery.until('busy', (found) => passwordOf(found) === 'generated', 'secrets')
  await lab.untilObject('busy', (found) => conditionOf(found)?.['status'] === 'True')
})

test('an object that comes between the look and the write is not written: the first apply only creates', async () => {
  const transport = lab.record()
  transport.meddle = async ({ method, path }, send) => {
    const isFirst = method === 'PATCH' && path.endsWith('/secrets/raced') && !(await nursery.exists('raced', 'secrets'))
    if (isFirst) await nursery.create(secret('raced', 'of others'), 'secrets')
    return send()
  }
  await lab.start(deputy(), { transport })
  await lab.create('raced', {})
  await lab.untilObject('raced', (found) => conditionOf(found)?.['reason'] === 'ChildRefused')
  const { metadata, ...rest } = await nursery.get('raced', 'secrets')
  expect(passwordOf(rest as Body)).toBe('of others')
  expect(metadata).not.toHaveProperty('ownerReferences')
  expect(metadata).not.toHaveProperty('labels')
})

test('an object that has taken the place of a child is not written: later applies carry the uid that was seen', async () => {
  const transport = lab.record()
  await lab.start(deputy(), { transport })
  await lab.create('replaced', { spec: { password: 'first' } })
  await nursery.untilThere('replaced', 'secrets')
  await settle(lab)
  transport.meddle = async ({ method, path, text }, send) => {
    if (method === 'PATCH' && path.endsWith('/secrets/replaced') && text.includes('second')) {
      transport.meddle = (_, sendOn) => sendOn()
      await nursery.delete('replaced', 'secrets')
      await nursery.create(secret('replaced', 'of others'), 'secrets')
    }
    return send()
  }
  await lab.patch('replaced', { spec: { password: 'second' } })
  await lab.untilObject('replaced', (found) => conditionOf(found)?.['reason'] === 'ChildRefused')
  expect(passwordOf(await nursery.get('replaced', 'secrets'))).toBe('of others')
})

test('a child that was deleted when its next state is applied is made again', async () => {
  const transport = lab.record()
  await lab.start(deputy(), { transport })
  await lab.create('vanished', { spec: { password: 'first' } })
  await nursery.untilThere('vanished', 'secrets')
  await settle(lab)
  transport.meddle = async ({ method, path, text }, send) => {
    if (method === 'PATCH' && path.endsWith('/secrets/vanished') && text.includes('second')) {
      transport.meddle = (_, sendOn) => sendOn()
      await nursery.delete('vanished', 'secrets')
    }
    return send()
  }
  await lab.patch('vanished', { spec: { password: 'second' } })
  await nursery.until('vanished', (found) => passwordOf(found) === 'second', 'secrets')
  expect(conditionOf(await lab.get('vanished'))).toBeUndefined()
})

test('a child without its owner reference is taken back after a restart, as its annotation says for whom it was made', async () => {
  const first = await lab.start(deputy())
  await lab.create('stripped', {})
  await nursery.untilThere('stripped', 'secrets')
  await settle(lab)
  await lab.stop(first)
  await nursery.patch('stripped', { metadata: { ownerReferences: null } }, 'secrets')
  await lab.start(deputy())
  await nursery.until('stripped', ({ metadata }) => metadata.ownerReferences?.length === 1, 'secrets')
})

test('with `adopt`, an object that exists is taken over, but none that another object controls', async () => {
  await nursery.create(secret('wanted', 'of others'), 'secrets')
  const { metadata } = await nursery.create(configMap('owner'))
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: metadata.uid!, controller: true }
  await nursery.create(configMap('wanted-settings', {}, { ownerReferences: [owner] }))
  await lab.start(deputy({ adopt: true }))
  await lab.create('wanted', {})
  const adopted = await nursery.until('wanted', (found) => passwordOf(found) === 'generated', 'secrets')
  expect(adopted.metadata.ownerReferences).toEqual([expect.objectContaining({ kind: 'Widget', name: 'wanted' })])
  await lab.untilLogged('Cannot apply ConfigMap "wanted-settings": another object controls it')
})

test('a new child costs one request, an unchanged one none, and a changed one is applied with its uid', async () => {
  const transport = lab.record()
  await lab.start(deputy(), { transport })
  await lab.create('counted', { spec: { password: 'first' } })
  const { metadata } = await nursery.untilThere('counted', 'secrets')
  await settle(lab)
  await lab.patch('counted', { spec: { password: 'second' } })
  await nursery.until('counted', (found) => passwordOf(found) === 'second', 'secrets')
  await settle(lab)
  const asked = transport.requests.filter(({ path, query }) => path.includes('/secrets/') || query.has('fieldSelector'))
  expect(asked.map(({ method }) => method)).toEqual(['PATCH', 'PATCH'])
  expect(asked[1]?.body).toMatchObject({ metadata: { uid: metadata.uid } })
})

/** Another tenant, who may write ConfigMaps in a namespace of his own, and has got to know the uid of a widget. */
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

test('a forged owner reference in another namespace makes no child: it is not shown, triggers no call, and does not hold up the deletion', async () => {
  const calls: number[] = []
  const kopf = new Operator({ name: 'deputy' })
  kopf.reconcile(lab.widgets, { id: 'serve', owns: ['configmaps'], cleanup: true }, ({ name, children, deleting }) => {
    calls.push(children.size)
    return deleting ? undefined : { children: [configMap(`${name}-settings`)] }
  })
  await lab.start(kopf, { namespaces: [lab.namespace, elsewhere] })
  const { metadata } = await lab.create('besieged', {})
  await nursery.untilThere('besieged-settings')
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
  // Called for the deletion with its own child, and when that is gone.
  expect(Math.max(...calls)).toBe(1)
})
