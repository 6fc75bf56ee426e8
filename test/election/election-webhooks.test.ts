/** Webhook configurations are shared by all replicas: only the leader empties them when it ends. */
import type { Operator } from 'kopf'
import { afterEach, expect, test } from 'vitest'
import { useCleanLab } from '../support/handled.ts'
import { leasePath, Replicas, untilHeldBy } from './election-support.ts'

const lab = useCleanLab()
const managed = `${lab.namespace}.kopf.dev`
const path = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${managed}`

afterEach(async () => {
  await lab.stopAll()
  await lab.call('DELETE', leasePath(lab))
  await lab.call('DELETE', path)
})

async function webhooks(): Promise<number> {
  const { body } = await lab.call('GET', path)
  return ((body['webhooks'] ?? []) as unknown[]).length
}

/** Registers a webhook under one URL for all replicas, as behind a Service; no review is ever sent to it. */
function withWebhooks(kopf: Operator): void {
  kopf.settings.admission.managed = managed
  kopf.settings.admission.server = async function* (_fn, { signal }) {
    yield { url: 'https://webhooks.invalid/' }
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  }
  kopf.on.validate(lab.widgets, { id: 'v', ignoreFailures: true }, () => {})
}

test('a candidate that ends keeps the webhook configuration, and candidates restore it when the leader ends', async () => {
  const replicas = new Replicas(lab)
  await replicas.start('a', withWebhooks)
  const stander = await replicas.start('b', withWebhooks)
  await replicas.start('c', withWebhooks)
  expect(await webhooks()).toBe(1)
  expect(replicas.writes('b')).toEqual([])
  await lab.stop(stander)
  expect(await webhooks()).toBe(1)
  await lab.stop(replicas.running['a']!)
  await untilHeldBy(lab, 'c')
  await lab.until(async () => (await webhooks()) === 1)
  await lab.stop(replicas.running['c']!)
  expect(await webhooks()).toBe(0)
})
