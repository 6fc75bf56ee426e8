/** What goes wrong with a peering, and that nobody begins to work because of it who should not. */
import { Operator } from 'kopf'
import { describe, expect, test } from 'vitest'
import type { TransportResponse } from '../../src/util/transport.ts'
import { cutBy, gate, type Recording, refusal } from '../support/recording.ts'
import { peeringRequests, usePeeringLab } from './support.ts'

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

/** Whoever asks for peerings in this way is answered by the test; anything else goes through. */
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

describe('without the right to look', () => {
  const rule = 'apiGroups: ["kopf.dev"], resources: ["kopfpeerings"], verbs: ["list", "watch", "patch"]'

  test('the operator says what it needs, goes on, and can be seen by others nevertheless', async () => {
    await peering.create()
    await peering.sign('them', strong)
    await lab.start(createOperator(), { identity: 'me', transport: meddling(isRead, async () => refusal(403)) })
    await lab.untilLogged(rule)
    await lab.create('one')
    await lab.until(() => hasSeen('one'))
    await peering.untilSigned('me')
    await soon()
    expect(lab.logs.filter((line) => line.startsWith('Cannot look at the peering'))).toHaveLength(1)
  })

  test('where the peering is mandatory, it is paused until it may', async () => {
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

test('without the right to write, the operator says so, and gives way to others all the same', async () => {
  await peering.create()
  const lifetime = lab.isReal ? 2 : 60
  await peering.sign('them', { priority: 100, lifetime })
  await lab.start(createOperator(), { identity: 'me', transport: meddling(isWrite, async () => refusal(403)) })
  await lab.untilLogged(`Cannot tell the others in the peering "${peering.name}" that the operator runs`)
  await lab.create('one')
  await lab.elapse(lifetime / 2)
  expect(hasSeen('one')).toBe(false)
  await lab.until(() => hasSeen('one'))
  expect(await peering.records()).toHaveProperty('them')
})

test('when the watch breaks, a pause lasts; and its end is noticed when the watch is back', async () => {
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

test('a watch that has silently died does not make others look dead', async () => {
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

/** Nothing more comes after the promise has resolved, and the end does not come either. */
async function* silencedBy(body: AsyncIterable<Uint8Array>, end: Promise<void>): AsyncGenerator<Uint8Array> {
  let isSilent = false
  void end.then(() => (isSilent = true))
  for await (const chunk of body) if (!isSilent) yield chunk
}

test('nobody is taken for dead as long as the server cannot be asked', async () => {
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
  ['text', 'text'],
  ['a list', [1, 2]],
  [
    'strange records',
    { a: 'text', b: [], c: { priority: {}, lifetime: [], lastseen: {} }, d: { lastseen: 'never', priority: 'x' } },
  ],
])('a status of %s does not stop anybody', async (_, status) => {
  await peering.create()
  await lab.call('PATCH', peering.path(), { status }, 'application/merge-patch+json')
  await lab.start(createOperator(), { identity: 'me', priority: 1 })
  await lab.create('one')
  await lab.until(() => hasSeen('one'))
})

test('whoever takes out our record again and again is not fought', async () => {
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

test('a record that cannot be removed is not tried again and again', async () => {
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

test('a goodbye that nobody takes does not keep the operator from ending', async () => {
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

test('others are told of the end only when the last handler and the last daemon have ended', async () => {
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
