/** Hostile peering objects: no operator crashes, and each pause ends. */
import { Operator, type Settings } from 'kopf'
import { expect, test } from 'vitest'
import { usePeeringLab } from './peering-lab.ts'

const peering = usePeeringLab('kopf.dev')
const { lab } = peering
/** Seconds: long enough to observe the pause, short enough to wait for on a real cluster. */
const lifetime = lab.isReal ? 2 : 60

function createOperator(settings: Partial<Settings['peering']> = {}): Operator {
  const kopf = new Operator({ settings: { peering: { name: peering.name, ...settings } } })
  kopf.on.event(lab.widgets, ({ name, logger }) => logger.info(`seen: ${name}`))
  return kopf
}

const hasSeen = (name: string) => lab.logs.some((line) => line.includes(`seen: ${name}`))

/** 125,000 records are about 1.3 MB, close to the limit of 1.5 MB of etcd. */
async function fill(count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => (46_656 + index).toString(36))
  const status = `{${ids.map((id) => `"${id}":{}`).join(',')}}`
  const patch = { status: JSON.parse(status) as object }
  const { status: code, text } = await lab.call('PATCH', peering.path(), patch, 'application/merge-patch+json')
  if (code !== 200) throw new Error(`Cannot fill the peering: ${text.slice(0, 500)}`)
}

test('125,000 peering records with the same priority pause an operator at its start and do not crash it', {
  timeout: 120_000,
}, async () => {
  await peering.create()
  await fill(125_000)
  await lab.start(createOperator(), { identity: 'me' })
  await peering.untilPaused()
  await lab.create('one')
  await lab.call('PATCH', peering.path(), { status: null }, 'application/merge-patch+json')
  await lab.until(() => hasSeen('one'))
  const lines = lab.logs.filter((line) => line.includes('<Peer '))
  expect(lines[0]).toContain('and 124990 more')
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(2000)
})

test('peering records with a lower priority are ignored, and are removed with one write when they expire', async () => {
  await peering.create()
  await fill(10_000)
  const recording = lab.record()
  await lab.start(createOperator({ priority: 1 }), { identity: 'me', transport: recording })
  await lab.create('one')
  await lab.until(() => hasSeen('one'))
  if (lab.isReal) return
  await lab.elapse(120)
  expect(Object.keys(await peering.records())).toEqual(['me'])
  expect(recording.writes('kopfpeerings').filter(({ text }) => text.includes(':null'))).toHaveLength(1)
})

test.each([
  ['without a time', { lastseen: null }],
  ['with an invalid time', { lastseen: 'tomorrow' }],
  ['from the far future', { lastseen: '9999-12-31T23:59:59.999999+00:00' }],
])('a peering record %s expires after its lifetime and is removed', async (_, forged) => {
  await peering.create()
  await peering.sign('forger', { priority: 100, lifetime, ...forged })
  await lab.start(createOperator(), { identity: 'me' })
  await peering.untilPaused()
  await lab.create('one')
  await lab.elapse(lifetime / 2)
  expect(hasSeen('one')).toBe(false)
  // Peers keep writing the object.
  await peering.sign('low', { priority: -1, lifetime: 3600 })
  await lab.elapse(lifetime / 4)
  expect(hasSeen('one')).toBe(false)
  await lab.until(() => hasSeen('one'))
  await peering.untilUnsigned('forger')
})

test('a peering record with an excessive lifetime counts for the maximum lifetime, with one warning', async () => {
  await peering.create()
  await peering.sign('forger', { priority: 1e300, lifetime: 1e300 })
  await lab.start(createOperator({ maxLifetime: lifetime }), { identity: 'me' })
  await peering.untilPaused()
  await lab.create('one')
  for (let times = 0; times < 2; times += 1) await peering.sign('low', { priority: -1, lifetime: 3600 })
  expect(hasSeen('one')).toBe(false)
  await lab.until(() => hasSeen('one'))
  const warnings = lab.logs.filter((line) => line.includes('settings.peering.maxLifetime'))
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain(`(${lifetime} seconds), which counts instead: [<Peer forger: priority=1e+300`)
  await peering.untilUnsigned('forger')
})

test('a peering record with fields of wrong types is read with the defaults', async () => {
  await peering.create()
  const forged = { priority: { a: 1 }, lifetime: [1, 2], lastseen: { b: 2 } }
  await peering.sign('forger', forged)
  await lab.start(createOperator({ priority: 1 }), { identity: 'me' })
  await lab.create('one')
  await lab.until(() => hasSeen('one'))
})
