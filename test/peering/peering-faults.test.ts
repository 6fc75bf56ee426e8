/** Faults of a peering: missing permissions, broken watches, malformed records. A paused operator stays paused in spite of them. */
import { Operator } from 'kopf'
import { describe, expect, test } from 'vitest'
import type { TransportResponse } from '../../src/util/transport.ts'
import { cutBy, gate, type Recording, refusal } from '../support/recording.ts'
import { peeringRequests, usePeeringLab } from './peering-lab.ts'

const peering = usePeeringLab('kopf.dev')
const { lab } = peering

function createOperator(lifetime = 60): Operator {
  const kopf = new Operator({ settings: { peering: { name: peering.name, lifetime } } })
  kopf.on.event(lab.widgets, ({ name, logger }) => logger.info(`seen: ${name}`))
  return kopf
}

const hasSeen = (name: string) => lab.logs.some((line) => line.includes(`seen: ${name}`))
const soon = () => lab.elapse(lab.isReal ? 0.5 : 600)
const strong = { priority: 100, lifetime: 3600 }

/** A transport whose peering requests of the given method are answered by the test; all others are sent. */
function meddling(
  isMeant: (method: string) => boolean,
  answer: (send: () => Promise<TransportResponse>) => Promise<TransportResponse>,
): Recording {
  const recording = lab.record()
  recording.meddle = ({ method, path }, send) =>
    path.includes('kopfpeerings') && isMeant(method) ? answer(send) : send()
  return recording
}

const isRead = (method: string) => method === 'GET'
const isWrite = (method: string) => method === 'PATCH'

describe('peering without read permission', () => {
  const rule = 'apiGroups: ["kopf.dev"], resources: ["kopfpeerings"], verbs: ["list", "watch", "patch"]'

  test('an operator that may not read the peering logs the missing rule, continues, and still announces itself', async () => {
    await peering.create()
    await peering.sign('them', strong)
    await lab.start(createOperator(), { identity: 'me', transport: meddling(isRead, async () => refusal(403)) })
    await lab.untilLogged(rule)
    await lab.create('one')
    await lab.until(() => hasSeen('one'))
    await peering.untilSigned('me')
    await soon()
    expect(lab.logs.filter((line) => line.startsWith('Cannot watch the peering'))).toHaveLength(1)
  })

  test('an operator with a mandatory peering is paused until it may read the peering', async () => {
    await peering.create()
    let isForbidden = true
    const transport = meddling(isRead, async (send) => (isForbidden ? refusal(403) : send()))
    await lab.start(createOperator(), { identity: 'me', peering: peering.name, transport })
    await lab.untilLogged(rule)
    await lab.create('one')
    await soon()
    expect(hasSeen('one')).toBe(false)
    isForbidden = false
    await lab.until(() => hasSeen('one'))
  })
})

test('an operator that may not write the peering logs it, and still pauses for others', async () => {
  await peering.create()
  const lifetime = lab.isReal ? 2 : 60
  await peering.sign('them', { priority: 100, lifetime })
  await lab.start(createOperator(), { identity: 'me', transport: meddling(isWrite, async () => refusal(403)) })
  await lab.untilLogged(`Cannot write to the peering "${peering.name}", so other operators may not see this one`)
  await lab.create('one')
  await lab.elapse(lifetime / 2)
  expect(hasSeen('one')).toBe(false)
  await lab.until(() => hasSeen('one'))
  expect(await peering.records()).toHaveProperty('them')
})

test('a pause continues while the watch of the peering is broken, and its end is noticed after the reconnect', async () => {
  await peering.create()
  await peering.sign('them', strong)
  const cut = gate()
  let [isBroken, hasBeenCut] = [false, false]
  const transport = meddling(isRead, async (send) => {
    if (isBroken) return refusal(503)
    const response = await send()
    if (hasBeenCut) return response
    hasBeenCut = true
    return { ...response, body: cutBy(response.body, cut.opened) }
  })
  await lab.start(createOperator(), { identity: 'me', transport })
  await peering.untilPaused()
  isBroken = true
  cut.open()
  await peering.sign('them', null)
  await lab.create('one')
  await lab.elapse(lab.isReal ? 0.3 : 20)
  expect(hasSeen('one')).toBe(false)
  isBroken = false
  await lab.until(() => hasSeen('one'))
})

test('a watch of the peering that is silently dead does not make peers look expired', async () => {
  await peering.create()
  const sign = () => peering.sign('them', { priority: 100, lifetime: lab.isReal ? 3 : 60 })
  await sign()
  const isStale = gate()
  const transport = meddling(isRead, async (send) => {
    const response = await send()
    return { ...response, body: silencedBy(response.body, isStale.opened) }
  })
  const kopf = createOperator()
  kopf.settings.watching.inactivityTimeout = 3600
  await lab.start(kopf, { identity: 'me', transport })
  await peering.untilPaused()
  isStale.open()
  await lab.create('one')
  for (let times = 0; times < 3; times += 1) {
    await lab.elapse(lab.isReal ? 1.5 : 40)
    await sign()
    expect(hasSeen('one')).toBe(false)
  }
  await lab.until(() => hasSeen('one'))
})

/** Drops all chunks after the promise has resolved, and does not end. */
async function* silencedBy(body: AsyncIterable<Uint8Array>, end: Promise<void>): AsyncGenerator<Uint8Array> {
  let isSilent = false
  void end.then(() => (isSilent = true))
  for await (const chunk of body) if (!isSilent) yield chunk
}

test('a peer does not expire as long as the API server cannot be reached', async () => {
  await peering.create()
  const lifetime = lab.isReal ? 2 : 60
  await peering.sign('them', { priority: 100, lifetime })
  let isDown = false
  const transport = meddling(isWrite, async (send) => (isDown ? refusal(500) : send()))
  await lab.start(createOperator(), { identity: 'me', transport })
  await peering.untilSigned('me')
  isDown = true
  await lab.create('one')
  await lab.elapse(lifetime + (lab.isReal ? 1 : 60))
  expect(hasSeen('one')).toBe(false)
  isDown = false
  await lab.until(() => hasSeen('one'))
})

test.each([
  ['a text', 'text'],
  ['a list', [1, 2]],
  [
    'malformed records',
    { a: 'text', b: [], c: { priority: {}, lifetime: [], lastseen: {} }, d: { lastseen: 'never', priority: 'x' } },
  ],
])('a malformed peering status with %s does not pause the operator', async (_, status) => {
  await peering.create()
  await lab.call('PATCH', peering.path(), { status }, 'application/merge-patch+json')
  await lab.start(createOperator(), { identity: 'me', priority: 1 })
  await lab.create('one')
  await lab.until(() => hasSeen('one'))
})

test('an operator whose own record is removed repeatedly limits its writes', async () => {
  await peering.create()
  const recording = lab.record()
  await lab.start(createOperator(), { identity: 'me', transport: recording })
  for (let times = 0; times < 20; times += 1) {
    await peering.sign('me', null)
    await lab.elapse(lab.isReal ? 0.05 : 1)
  }
  const signs = peeringRequests(recording).filter((one) => one === 'PATCH')
  expect(signs.length).toBeLessThanOrEqual(2)
})

test('an expired record that cannot be removed is not tried again and again', async () => {
  await peering.create()
  await peering.sign('dead', { priority: 100, lastseen: '2020-01-01T00:00:00+00:00' })
  const recording = lab.record()
  recording.meddle = ({ text }, send) => (text.includes('"dead":null') ? send('{}') : send())
  await lab.start(createOperator(), { identity: 'me', transport: recording })
  await lab.create('one')
  await lab.until(() => hasSeen('one'))
  await lab.elapse(lab.isReal ? 1 : 120)
  expect(recording.writes('kopfpeerings').filter(({ text }) => text.includes('"dead":null'))).toHaveLength(1)
})

test('an operator stops even if its record cannot be removed', async () => {
  await peering.create()
  let isDown = false
  const transport = meddling(isWrite, (send) => (isDown ? new Promise(() => {}) : send()))
  const running = await lab.start(createOperator(), { identity: 'me', transport })
  await peering.untilSigned('me')
  isDown = true
  const sinceMs = lab.clock.now()
  await lab.stop(running)
  expect(lab.clock.now() - sinceMs).toBeLessThan(12_000)
  expect(await peering.records()).toHaveProperty('me')
})

test('the record of an operator is removed only after its last handler and its last daemon have ended', async () => {
  await peering.create()
  const kopf = createOperator()
  const ending = gate()
  let hasEnded = false
  kopf.daemon(lab.widgets, async ({ stopped }) => {
    await stopped.wait()
    await ending.opened
    hasEnded = true
  })
  await lab.create('one')
  const running = await lab.start(kopf, { identity: 'me' })
  await peering.untilSigned('me')
  await lab.untilObject('one', ({ metadata }) => metadata.finalizers !== undefined)
  const stopping = lab.stop(running)
  await lab.untilLogged('to end.')
  expect(await peering.records()).toHaveProperty('me')
  ending.open()
  await stopping
  expect(hasEnded).toBe(true)
  expect(await peering.records()).toEqual({})
})
