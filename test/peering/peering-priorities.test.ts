/** Operators pause by priority, as long as the record of the peer is valid. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { type PeeringRecord, usePeeringLab } from './peering-lab.ts'

const peering = usePeeringLab('kopf.dev', 'zalando.org')
const { lab } = peering

/** An operator that logs the name of every object it sees. */
function createOperator(priority = 0): Operator {
  const kopf = new Operator({ settings: { peering: { name: peering.name, priority } } })
  kopf.on.event(lab.widgets, ({ name, logger }) => logger.info(`seen: ${name}`))
  return kopf
}

const hasSeen = (name: string) => lab.logs.some((line) => line.includes(`seen: ${name}`))

test('an operator pauses for a peer with a higher priority, and not for a peer with a lower priority', async () => {
  await peering.create()
  await peering.sign('low', { priority: 4 })
  await lab.start(createOperator(5), { identity: 'me' })
  await lab.create('one')
  await lab.until(() => hasSeen('one'))
  await peering.sign('high', { priority: 6, lastseen: '9999-12-31T23:59:59+00:00', lifetime: 3600 })
  await lab.untilLogged(
    "Pausing operations in favour of [<Peer high: priority=6, lifetime=3600, lastseen='9999-12-31T23:59:59.000000+00:00'>].",
  )
  await peering.sign('high', null)
  await lab.untilLogged('Resuming operations after the pause. Conflicting operators with the same priority are gone.')
})

test('operators with the same priority all pause and log a warning', async () => {
  await peering.create()
  const first = await lab.start(createOperator(), { identity: 'first' })
  await peering.untilSigned('first')
  // Both operators write to the same log from here on.
  await lab.start(createOperator(), { identity: 'second' })
  for (const name of ['first', 'second']) {
    await lab.untilLogged(
      `Possibly conflicting operators with the same priority: [<Peer ${name}: priority=0, lifetime=60,`,
    )
  }
  await lab.until(
    () => lab.logs.filter((line) => line.startsWith('Pausing all operators, including self: [<Peer ')).length === 2,
  )
  await lab.create('one')
  await lab.elapse(lab.isReal ? 1 : 600)
  expect(hasSeen('one')).toBe(false)
  expect(lab.logs.filter((line) => line.startsWith('Possibly conflicting'))).toHaveLength(2)
  await lab.stop(first)
  await lab.until(() => hasSeen('one'))
})

test('operators with shard selectors and the same priority run side by side', async () => {
  await peering.create()
  await peering.sign('same', { priority: 0, lifetime: 3600 })
  const kopf = createOperator()
  kopf.settings.watching.shardSelectors.set('others.example.com', 'shard=1')
  await lab.start(kopf, { identity: 'me' })
  await lab.create('one')
  await lab.until(() => hasSeen('one'))
})

test('an operator waits for a dead peer only as long as the lifetime of its last keep-alive', async () => {
  await peering.create()
  const lifetime = lab.isReal ? 2 : 60
  await peering.sign('killed', { priority: 100, lifetime })
  const { killed } = await peering.records()
  await lab.start(createOperator(), { identity: 'me' })
  await lab.create('one')
  await lab.until(() => hasSeen('one'))
  const lateMs = lab.clock.now() - Date.parse((killed as PeeringRecord).lastseen) - lifetime * 1000
  expect(lateMs).toBeGreaterThanOrEqual(0)
  expect(lateMs).toBeLessThan(lab.isReal ? 2000 : 100)
  await peering.untilUnsigned('killed')
})

test('an operator keeps waiting for a peer that renews its keep-alive', async () => {
  await peering.create()
  const sign = () => peering.sign('slow', { priority: 100, lifetime: lab.isReal ? 2 : 60 })
  await sign()
  await lab.start(createOperator(), { identity: 'me' })
  await lab.create('one')
  for (let times = 0; times < 5; times += 1) {
    await lab.elapse(lab.isReal ? 1 : 50)
    expect(hasSeen('one')).toBe(false)
    await sign()
  }
  await lab.until(() => hasSeen('one'))
})

test('a peering record without a time counts from when it is first seen', async () => {
  await peering.create()
  await peering.sign('person', { priority: 100, lastseen: null, lifetime: null })
  await lab.start(createOperator(), { identity: 'me' })
  await lab.create('one')
  await lab.elapse(lab.isReal ? 1 : 59)
  expect(hasSeen('one')).toBe(false)
  if (lab.isReal) await peering.sign('person', null)
  await lab.until(() => hasSeen('one'))
})

test('expired records are removed with one write, which is not made if one of them is renewed', async () => {
  await peering.create()
  for (const name of ['a', 'b', 'c']) await peering.sign(name, { lastseen: '2020-01-01T00:00:00+00:00', priority: 100 })
  const recording = lab.record()
  let isFirst = true
  recording.meddle = async ({ body }, send) => {
    const removal = body?.['metadata'] !== undefined && body?.['status'] !== undefined
    if (removal && isFirst) {
      isFirst = false
      await peering.sign('b', { priority: 100 })
    }
    return send()
  }
  await lab.start(createOperator(), { identity: 'me', transport: recording })
  await peering.untilUnsigned('a')
  await peering.untilUnsigned('c')
  expect(await peering.records()).toMatchObject({ b: { priority: 100 } })
  const removals = recording.writes('kopfpeerings').filter(({ text }) => text.includes('"a":null'))
  expect(removals).toHaveLength(2)
  expect(removals[1]!.body).toMatchObject({ status: { a: null, c: null } })
})

test('an operator is paused while there is a reason in any of its peerings', async () => {
  await peering.create({ group: 'kopf.dev' })
  await peering.create({ group: 'zalando.org' })
  const strong = { priority: 100, lifetime: 3600 }
  await peering.sign('them', strong, { group: 'kopf.dev' })
  await peering.sign('them', strong, { group: 'zalando.org' })
  await lab.start(createOperator(), { identity: 'me' })
  await lab.create('one')
  await peering.sign('them', null, { group: 'kopf.dev' })
  await lab.untilLogged('Resuming operations')
  await lab.elapse(lab.isReal ? 0.5 : 600)
  expect(hasSeen('one')).toBe(false)
  await peering.sign('them', null, { group: 'zalando.org' })
  await lab.until(() => hasSeen('one'))
})

test('two operators take over from each other, and each object is handled once', async () => {
  await peering.create()
  const handled: string[] = []
  const create = (who: string, priority: number) => {
    const kopf = new Operator({ settings: { peering: { name: peering.name, priority } } })
    kopf.on.create(lab.widgets, { id: 'make' }, ({ name }) => void handled.push(`${who} ${name}`))
    return kopf
  }
  await lab.start(create('low', 1), { identity: 'low' })
  await lab.create('one')
  await lab.until(() => handled.length === 1)
  const high = await lab.start(create('high', 2), { identity: 'high' })
  await peering.untilSigned('high')
  await lab.elapse(1)
  await lab.create('two')
  await lab.until(() => handled.length === 2)
  await lab.stop(high)
  await lab.create('three')
  await lab.until(() => handled.length === 3)
  await lab.elapse(lab.isReal ? 0.5 : 100)
  expect(handled).toEqual(['low one', 'high two', 'low three'])
})
