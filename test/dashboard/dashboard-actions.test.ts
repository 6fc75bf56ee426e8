/** The actions of the dashboard on one object: retry, reconcile, release. */
import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import type { ActionName } from '../../src/dashboard/protocol.ts'
import { leasePath, Replicas } from '../election/election-support.ts'
import { usePeeringLab } from '../peering/peering-lab.ts'
import { progressOf } from '../support/handled.ts'
import { gate } from '../support/recording.ts'
import { anywhere, type Browser, openDashboard } from './dashboard-support.ts'

const peering = usePeeringLab('kopf.dev')
const { lab } = peering

function operator(): Operator {
  return new Operator({ settings: { dashboard: { address: anywhere } } })
}

const reference = (name: string) => ({ resource: `widgets.v1.${lab.group}`, namespace: lab.namespace, name })

const act = (browser: Browser, action: ActionName, name: string) =>
  browser.post('api/actions', { action, object: reference(name) })

/** None for an object that the operator does not know yet. */
async function actionsOf(browser: Browser, name: string): Promise<readonly ActionName[]> {
  const { status, body } = await browser.send(`api/views/object?${new URLSearchParams(reference(name))}`)
  return status === 404 ? [] : body.actions
}

test('retry calls a handler that waits for its next attempt at once, and its attempts are counted as always', async () => {
  const kopf = operator()
  const retries: number[] = []
  kopf.on.create(lab.widgets, { id: 'steady' }, () => {})
  kopf.on.create(lab.widgets, { id: 'flaky' }, ({ retry }) => {
    retries.push(retry)
    if (retry < 2) throw new TemporaryError('not yet', { delay: '100h' })
  })
  const browser = await openDashboard(await lab.start(kopf))
  await lab.create('one')
  await lab.untilObject('one', (body) => progressOf(body, 'flaky')?.['retries'] === 1)
  await lab.until(async () => String(await actionsOf(browser, 'one')) === 'retry')
  expect((await act(browser, 'retry', 'one')).status).toBe(200)
  await lab.untilObject('one', (body) => progressOf(body, 'flaky')?.['retries'] === 2)
  await lab.until(async () => (await actionsOf(browser, 'one')).includes('retry'))
  await act(browser, 'retry', 'one')
  await lab.untilObject('one', (body) => progressOf(body, 'flaky') === undefined)
  expect(retries).toEqual([0, 1, 2])
  await lab.until(async () => (await actionsOf(browser, 'one')).length === 0)
  const refused = await act(browser, 'retry', 'one')
  expect([refused.status, refused.body.message]).toEqual([
    409,
    'Cannot retry one: none of its handlers waits for a next attempt',
  ])
})

test('retry calls daemons and timers that wait for their next attempt after an error, and no others', async () => {
  const kopf = operator()
  const calls: string[] = []
  const flaky = (id: string) => (args: { readonly retry: number }) => {
    calls.push(`${id}, retry ${args.retry}`)
    if (args.retry === 0) throw new TemporaryError('not yet', { delay: '100h' })
  }
  kopf.daemon(lab.widgets, { id: 'daemon' }, flaky('daemon'))
  kopf.timer(lab.widgets, { id: 'timer', interval: '100h' }, flaky('timer'))
  kopf.timer(lab.widgets, { id: 'steady', interval: '100h' }, () => void calls.push('steady'))
  const browser = await openDashboard(await lab.start(kopf))
  await lab.create('one')
  await lab.until(() => calls.length === 3)
  await lab.until(async () => String(await actionsOf(browser, 'one')) === 'retry')
  expect((await act(browser, 'retry', 'one')).status).toBe(200)
  await lab.until(() => calls.length === 5)
  await lab.until(async () => (await actionsOf(browser, 'one')).length === 0)
  expect(calls.sort()).toEqual(['daemon, retry 0', 'daemon, retry 1', 'steady', 'timer, retry 0', 'timer, retry 1'])
})

test('reconcile calls the reconcilers of an object that has not changed', async () => {
  const kopf = operator()
  let calls = 0
  kopf.reconcile(lab.widgets, { id: 'steady' }, () => {
    calls += 1
  })
  const browser = await openDashboard(await lab.start(kopf))
  await lab.create('one')
  await lab.until(() => calls === 1)
  await lab.until(async () => String(await actionsOf(browser, 'one')) === 'reconcile')
  await act(browser, 'reconcile', 'one')
  await lab.until(() => calls === 2)
})

test('release removes the finalizer of an object that is being deleted, while its handler fails', async () => {
  const kopf = operator()
  kopf.on.delete(lab.widgets, { id: 'stuck' }, () => {
    throw new TemporaryError('the cloud is gone', { delay: '100h' })
  })
  const browser = await openDashboard(await lab.start(kopf))
  await lab.create('one')
  await lab.untilObject('one', ({ metadata }) => (metadata.finalizers ?? []).length === 1)
  expect((await act(browser, 'release', 'one')).status).toBe(409)
  await lab.delete('one')
  await lab.untilObject('one', (body) => progressOf(body, 'stuck')?.['retries'] === 1)
  await lab.until(async () => String(await actionsOf(browser, 'one')) === 'retry,release')
  expect((await act(browser, 'release', 'one')).status).toBe(200)
  await lab.untilGone('one')
})

test('an action is recorded in the journal and in the log with the name of the user', async () => {
  const kopf = operator()
  kopf.on.create(lab.widgets, () => {
    throw new TemporaryError('not yet', { delay: '100h' })
  })
  const browser = await openDashboard(await lab.start(kopf))
  await lab.create('one')
  await lab.until(
    async () => (await browser.view('objects')).total === 1 && (await actionsOf(browser, 'one')).length === 1,
  )
  await act(browser, 'retry', 'one')
  const { timeline } = await browser.view('object', reference('one'))
  expect(timeline).toContainEqual(expect.objectContaining({ type: 'action', action: 'retry', user: 'developer' }))
  await lab.untilLogged('The user "developer" of the dashboard has asked for "retry"')
})

test('an action on an object that the operator does not know is refused', async () => {
  const kopf = operator()
  kopf.on.create(lab.widgets, () => {})
  const browser = await openDashboard(await lab.start(kopf))
  for (const object of [reference('nothing'), { resource: 'pods.v1', name: 'x' }, { name: 'x' }, 'x']) {
    const { status } = await browser.post('api/actions', { action: 'retry', object })
    expect([400, 403]).toContain(status)
  }
  expect((await browser.post('api/actions', { action: 'delete', object: reference('x') })).status).toBe(400)
})

test('an action while the operator stops is refused', async () => {
  const kopf = operator()
  const ended = gate()
  kopf.on.create(lab.widgets, { id: 'slow' }, () => ended.opened)
  kopf.reconcile(lab.widgets, () => {})
  const running = await lab.start(kopf)
  const browser = await openDashboard(running)
  await lab.create('one')
  await lab.until(async () => (await browser.view('objects', { state: 'handling' })).total === 1)
  const stopped = running.stop()
  const { status, body } = await act(browser, 'reconcile', 'one')
  expect([status, body.message]).toEqual([409, 'Cannot reconcile one: the operator is stopping'])
  ended.open()
  await stopped
})

test('an action on a paused operator is refused, and what to do is said', async () => {
  await peering.create()
  const kopf = new Operator({ settings: { dashboard: { address: anywhere }, peering: { name: peering.name } } })
  kopf.reconcile(lab.widgets, () => {})
  const browser = await openDashboard(await lab.start(kopf, { identity: 'me' }))
  await lab.create('one')
  await lab.until(async () => String(await actionsOf(browser, 'one')) === 'reconcile')
  await peering.sign('them', { priority: 100, lifetime: 3600 })
  await peering.untilPaused()
  const { status, body } = await act(browser, 'reconcile', 'one')
  expect([status, body.message]).toEqual([
    409,
    'Cannot reconcile one: the operator is paused for another one; open the dashboard of that one, or end its pause with "npx kopf resume"',
  ])
})

test('an action on a replica that is a candidate is refused, and the leader is named as the place for it', async () => {
  const replicas = new Replicas(lab)
  const busy = (kopf: Operator) => {
    kopf.settings.dashboard.address = anywhere
    kopf.reconcile(lab.widgets, () => {})
  }
  const leader = await openDashboard(await replicas.start('a', busy))
  const candidate = await openDashboard(await replicas.start('b', busy))
  await lab.create('one')
  await lab.until(async () => String(await actionsOf(leader, 'one')) === 'reconcile')
  await lab.until(async () => (await candidate.view('objects')).total === 1)
  const { status, body } = await act(candidate, 'reconcile', 'one')
  expect([status, body.message]).toEqual([
    409,
    'Cannot reconcile one: this replica is not the leader; open the dashboard of the leader',
  ])
  await lab.stopAll()
  await lab.call('DELETE', leasePath(lab))
})
