/** Webhook configurations that another client changes: the operator restores them, at a limited rate. */
import type { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import { useLab } from '../support/lab.ts'
import { cutBy, gate, refusal } from '../support/recording.ts'
import { caBundle, collection, Desk, type Loose, registration, tellings, useManaged } from './managed-webhooks.ts'

const lab = useLab()
const managed = useManaged(lab)
const patch = `PATCH validatingwebhookconfigurations/${managed.name}`

const reviewed = (url: string = 'https://127.0.0.1:1/'): Operator => {
  const kopf = managed.operator(new Desk({ url, caBundle }))
  kopf.on.validate(lab.widgets, { id: 'first' }, () => {})
  kopf.on.validate(lab.widgets, { id: 'second' }, () => {})
  return kopf
}

const changes: Record<string, (webhooks: Loose[]) => Loose[]> = {
  'a webhook is removed': (webhooks) => webhooks.slice(1),
  'all webhooks are removed': () => [],
  'a webhook is added': (webhooks) => [...webhooks, { ...webhooks[0], name: `third.${managed.name}` }],
  'the webhooks are reordered': (webhooks) => webhooks.toReversed(),
  'a CA bundle is changed': ([first, second]) => [
    { ...first, clientConfig: { ...first.clientConfig, caBundle: Buffer.from('broken').toString('base64') } },
    second,
  ],
  'failurePolicy is set to Ignore': (webhooks) => webhooks.map((one) => ({ ...one, failurePolicy: 'Ignore' })),
  'a namespaceSelector is added': (webhooks) =>
    webhooks.map((one) => ({ ...one, namespaceSelector: { matchLabels: { a: 'b' } } })),
  'a matchCondition is added': ([first, ...others]) => [
    { ...first, matchConditions: [{ name: 'never', expression: 'false' }] },
    ...others,
  ],
}

test.each(Object.entries(changes))('a webhook configuration is restored by one write after %s', async (_, change) => {
  const wire = lab.record()
  await lab.start(reviewed(), { transport: wire })
  const before = (await managed.webhooks())!
  const { length } = tellings(wire)
  await managed.change({ webhooks: change(before) })
  await lab.until(async () => JSON.stringify(await managed.webhooks()) === JSON.stringify(before))
  await settle(lab)
  expect(tellings(wire).slice(length)).toEqual([patch])
})

test('foreign labels and annotations of a webhook configuration are left alone', async () => {
  const wire = lab.record()
  await lab.start(reviewed(), { transport: wire })
  const { length } = tellings(wire)
  await managed.change({ metadata: { labels: { team: 'a' }, annotations: { note: 'ours' } } })
  await settle(lab)
  expect(tellings(wire)).toHaveLength(length)
  expect((await managed.get())?.metadata.labels).toEqual({ team: 'a' })
})

test('a deleted webhook configuration is created again', async () => {
  const wire = lab.record()
  await lab.start(reviewed(), { transport: wire })
  const { length } = tellings(wire)
  await lab.call('DELETE', managed.path('validating'))
  await lab.until(async () => (await managed.ids())?.length === 2)
  await settle(lab)
  expect(tellings(wire).slice(length)).toEqual(['POST validatingwebhookconfigurations'])
})

test('a webhook configuration that is deleted while the operator ends is not created again', async () => {
  const running = await lab.start(reviewed())
  const stopping = lab.stop(running)
  await lab.call('DELETE', managed.path('validating'))
  await stopping
  expect((await managed.webhooks()) ?? []).toEqual([])
})

/** Lets a test cut the watch streams of the configurations and refuse new ones. */
function cuttable(wire: ReturnType<typeof lab.record>) {
  const { opened, open } = gate()
  const state = { isCut: false }
  wire.meddle = async ({ path, query }, send) => {
    if (query.get('watch') !== 'true' || !path.startsWith(registration)) return send()
    if (state.isCut) return refusal(503)
    const response = await send()
    return { ...response, body: cutBy(response.body, opened) }
  }
  const cut = () => {
    state.isCut = true
    open()
  }
  const mend = () => (wire.meddle = (_, send) => send())
  return { cut, mend }
}

test('a webhook configuration that was deleted while its watch was down is created again', async () => {
  const wire = lab.record()
  const streams = cuttable(wire)
  await lab.start(reviewed(), { transport: wire })
  streams.cut()
  await managed.change({ webhooks: [] })
  await lab.call('DELETE', managed.path('validating'))
  streams.mend()
  await lab.until(async () => (await managed.ids())?.length === 2)
})

test.skipIf(lab.isReal)('a configuration that came and went while its watch was down is created again', async () => {
  const wire = lab.record()
  const streams = cuttable(wire)
  const desk = new Desk()
  const kopf = managed.operator(desk)
  kopf.on.validate(lab.widgets, { id: 'first' }, () => {})
  await lab.start(kopf, { transport: wire })
  await lab.call('DELETE', managed.path('validating'))
  streams.cut()
  desk.move({ url: 'https://127.0.0.1:2/' })
  await lab.until(async () => (await managed.ids())?.length === 1)
  await lab.call('DELETE', managed.path('validating'))
  // The old resource version is compacted, so that the watch has to list again.
  lab.server.compact()
  streams.mend()
  await lab.until(async () => (await managed.ids())?.length === 1)
})

test.skipIf(lab.isReal)('a configuration that is reverted repeatedly is restored at growing intervals', async () => {
  const wire = lab.record()
  await lab.start(reviewed(), { transport: wire })
  const { length } = tellings(wire)
  let isOver = false
  const rival = (async () => {
    while (!isOver) {
      if ((await managed.webhooks())?.length !== 0) await managed.change({ webhooks: [] })
      await lab.clock.sleep(1000)
    }
  })()
  await lab.elapse(3600)
  isOver = true
  await lab.elapse(1)
  await rival
  const writes = tellings(wire).length - length
  expect(writes).toBeGreaterThan(40)
  expect(writes).toBeLessThanOrEqual(70)
  expect(lab.logs.filter((line) => line.includes('Another client keeps changing'))).toEqual([
    expect.stringContaining(`the validating webhook ${managed.name}: is it managed twice?`),
  ])
  // Once the rival has stopped, the configuration is restored.
  await lab.elapse(60)
  expect(await managed.ids()).toEqual(['first', 'second'])
})

test.skipIf(lab.isReal)('two operators with different configurations of one name limit their writes', async () => {
  const wires = [lab.record(), lab.record()]
  await lab.start(reviewed(), { transport: wires[0]! })
  await lab.start(reviewed('https://127.0.0.1:2/'), { transport: wires[1]! })
  await lab.elapse(3600)
  const writes = wires.map((wire) => tellings(wire).length)
  expect(writes[0]! + writes[1]!).toBeLessThanOrEqual(90)
  // Each operator keeps writing: neither wins for good, neither gives up.
  for (const count of writes) expect(count).toBeGreaterThan(20)
})

test('two operators with the same webhooks write their configuration once', async () => {
  const wires = [lab.record(), lab.record()]
  await lab.start(reviewed(), { transport: wires[0]! })
  await lab.start(reviewed(), { transport: wires[1]! })
  await settle(lab)
  expect(wires.map(tellings)).toEqual([['POST validatingwebhookconfigurations'], []])
})

test('the remaining one of two operators restores the configuration that the other has emptied', async () => {
  const first = await lab.start(reviewed())
  const wire = lab.record()
  await lab.start(reviewed(), { transport: wire })
  await lab.stop(first)
  await lab.until(async () => (await managed.ids())?.length === 2)
  await settle(lab)
  expect(tellings(wire)).toEqual([patch])
})

test('a write that does not change a webhook configuration causes no write of the operator', async () => {
  const wire = lab.record()
  await lab.start(reviewed(), { transport: wire })
  const { length } = tellings(wire)
  const object = (await managed.get())!
  const { status } = await lab.call('PUT', managed.path('validating'), object)
  expect(status).toBe(200)
  await settle(lab)
  expect(tellings(wire)).toHaveLength(length)
  expect(wire.requests.filter(({ path }) => path === collection('validating')).length).toBeLessThan(5)
})
