/** Replicas as processes of `kopf run`: stopped, killed, and blocked beyond their Lease. */
import { loginWithKubeconfig } from 'kopf'
import { startServer } from 'kopf/server'
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { createHttpsTransport, type HttpsTransport } from '../../src/client/http/transport.ts'
import { Folder, RunCommand, stopCommands } from '../cli/run-support.ts'
import { lastHandled } from '../support/handled.ts'

const isReal = process.env['KOPF_TEST_CLUSTER'] === 'real'
const namespace = 'default'
const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`

let kubeconfig: string
let transport: HttpsTransport
let folder: Folder
const closing: Array<() => unknown> = []

beforeAll(async () => {
  folder = new Folder()
  if (isReal) kubeconfig = inject('realCluster').kubeconfigs.admin
  else {
    const server = await startServer()
    closing.push(() => server.stop())
    folder.write({ 'dev.kubeconfig': server.kubeconfig })
    kubeconfig = `${folder.path}/dev.kubeconfig`
  }
  transport = createHttpsTransport((await loginWithKubeconfig({ path: kubeconfig }))!)
  closing.push(() => transport.close())
  folder.write({ 'operator.ts': operator })
})
afterEach(async () => {
  await stopCommands()
  await call('DELETE', `${leases}/processes`)
})
afterAll(async () => {
  for (const close of closing.reverse()) await close()
  folder.remove()
})

const operator = `
import { Operator } from 'kopf'
const kopf = new Operator({ name: 'processes' })
kopf.settings.election.enabled = true
kopf.settings.election.namespace = '${namespace}'
kopf.settings.election.leaseDuration = '2s'
kopf.settings.election.renewDeadline = '1s'
kopf.settings.election.retryPeriod = '200ms'
kopf.on.create('configmaps', { id: 'c', labels: { of: 'processes' } }, ({ name, logger }) => {
  logger.info(process.env.POD_ID + ' handles ' + name)
  if (name.startsWith('heavy')) for (const end = Date.now() + 3000; Date.now() < end; );
})
export default kopf
`

async function call(method: string, path: string, body?: object): Promise<Record<string, never>> {
  const headers = { 'content-type': 'application/json' }
  const answer = await transport.send({ method, path, headers, ...(body && { body: JSON.stringify(body) }) })
  let text = ''
  for await (const chunk of answer.body) text += Buffer.from(chunk)
  return JSON.parse(text)
}

async function make(prefix: string): Promise<string> {
  const name = `${prefix}-${Math.random().toString(36).slice(2, 8)}`
  await call('POST', configMaps, { metadata: { name, labels: { of: 'processes' } } })
  return name
}

/** Waits until the handling is stored: an object that a killed leader has not finished is handled by the next one. */
async function untilHandled(name: string): Promise<void> {
  const isHandled = async () => JSON.stringify(await call('GET', `${configMaps}/${name}`)).includes(lastHandled)
  await expect.poll(isHandled, { timeout: 20_000 }).toBe(true)
}

function run(id: string): RunCommand {
  const args = ['operator.ts', '--verbose', '-n', namespace, '--kubeconfig', kubeconfig, '--log-format=plain']
  return new RunCommand(folder, args, { POD_ID: id })
}

const leads = /This replica is the leader now/
const standsBy = /Waiting to lead: the Lease .* is held by/

test('the Lease passes on at once after SIGTERM, and after its expiration after SIGKILL', {
  timeout: 60_000,
}, async () => {
  const one = await run('one').until(leads)
  const two = await run('two').until(standsBy)
  const three = await run('three').until(standsBy)
  const first = await make('first')
  await one.until(new RegExp(`one handles ${first}`))
  one.send('SIGTERM')
  const stoppedMs = performance.now()
  const next = await Promise.race([two.until(leads), three.until(leads)])
  expect(performance.now() - stoppedMs).toBeLessThan(1500)
  expect(await one.exit).toBe(0)
  expect(one.stderr).toContain('The Lease is released')
  const second = await make('second')
  await next.until(new RegExp(`handles ${second}`))
  await untilHandled(second)
  next.send('SIGKILL')
  const killedMs = performance.now()
  const last = next === two ? three : two
  await last.until(leads)
  // Not before the killed leader would have stopped by itself.
  expect(performance.now() - killedMs).toBeGreaterThan(1000)
  const third = await make('third')
  await last.until(new RegExp(`handles ${third}`))
  expect(last.stderr).not.toContain(`handles ${first}`)
  expect(last.stderr).not.toContain(`handles ${second}`)
})

test('a leader that was blocked for longer than its Lease exits with 1 and writes nothing', {
  timeout: 60_000,
}, async () => {
  const one = await run('one').until(leads)
  const two = await run('two').until(standsBy)
  const heavy = await make('heavy')
  expect(await one.exit).toBe(1)
  expect(one.stderr).toContain('Cannot remain the leader')
  await two.until(new RegExp(`two handles ${heavy}`))
  // The first leader never stored that it had handled the object, so the second one was blocked by it as well.
  expect(await two.exit).toBe(1)
  await call('DELETE', `${configMaps}/${heavy}`)
})
