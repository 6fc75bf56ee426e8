/** Pending webhook calls of the embedded server: they stop the skipping clock, and end with their client. */

import { SkippingClock } from 'kopf/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useLab } from '../../../support/lab.ts'
import { reviewed, WebhookServer } from '../../../support/webhook-server.ts'

const lab = useLab()
let webhook: WebhookServer

beforeAll(async () => {
  webhook = await WebhookServer.start()
})

afterAll(() => webhook.stop())

const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
const configuration = (more: object = {}) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'mine' },
  webhooks: [
    {
      name: 'mine.example.com',
      clientConfig: webhook.at('/mine'),
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      rules: [{ apiGroups: [lab.group], apiVersions: ['v1'], operations: ['*'], resources: ['widgets'] }],
      ...more,
    },
  ],
})

test('the clock skips no time while a webhook is called', async () => {
  expect((await lab.call('POST', path, configuration())).status).toBe(201)
  let isAsked = false
  let release = () => {}
  webhook.on('/mine', async ({ review }) => {
    isAsked = true
    await new Promise<void>((resolve) => (release = resolve))
    return reviewed(review)
  })
  const startMs = lab.clock.now()
  let isCreated = false
  const creating = lab.create('slow').then(() => (isCreated = true))
  // A pending sleep gives the clock a time to skip to.
  const alarm = new AbortController()
  const sleeping = lab.clock.sleep(60_000, alarm.signal).catch(() => {})
  expect(lab.clock).toBeInstanceOf(SkippingClock)
  await lab.until(() => isAsked)
  expect(lab.server.webhookCalls).toBe(1)
  expect(lab.clock.now()).toBe(startMs)
  release()
  await lab.until(() => isCreated)
  await creating
  expect(lab.server.webhookCalls).toBe(0)
  expect(lab.clock.now()).toBe(startMs)
  alarm.abort()
  await sleeping
  expect((await lab.call('DELETE', `${path}/mine`)).status).toBe(200)
})

test('a webhook call ends when its client disconnects', async () => {
  expect((await lab.call('POST', path, configuration())).status).toBe(201)
  const gone = new AbortController()
  webhook.on('/mine', () => {
    gone.abort(new Error('gone'))
    return { instead: 'hang' }
  })
  const body = JSON.stringify({ apiVersion: `${lab.group}/v1`, kind: 'Widget', metadata: { name: 'gone' } })
  const request = { method: 'POST', path: lab.path(), headers: { 'content-type': 'application/json' }, body }
  await expect(lab.server.send(request, gone.signal)).rejects.toThrow('gone')
  expect(lab.server.webhookCalls).toBe(0)
  expect(await lab.exists('gone')).toBe(false)
  expect((await lab.call('DELETE', `${path}/mine`)).status).toBe(200)
})
