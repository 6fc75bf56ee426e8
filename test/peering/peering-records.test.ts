/** The record of an operator in the peering object, from its start to its end. */
import { Operator } from 'kopf'
import { describe, expect, test } from 'vitest'
import { type Group, type PeeringRecord, peeringRequests, usePeeringLab } from './peering-lab.ts'

const peering = usePeeringLab('kopf.dev', 'zalando.org')
const { lab } = peering

function createOperator(lifetime = 60): Operator {
  const kopf = new Operator({ settings: { peering: { name: peering.name, lifetime } } })
  kopf.on.event(lab.widgets, () => {})
  return kopf
}

const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/

describe.each<Group>(['kopf.dev', 'zalando.org'])('peering group %s', (group) => {
  test.each([false, true])(
    'an operator has a peering record while it runs, and none afterwards (cluster-wide: %s)',
    async (clusterwide) => {
      const place = { group, clusterwide }
      await peering.create(place)
      const running = await lab.start(createOperator(), { clusterwide, priority: 7, identity: 'me@here' })
      await peering.untilSigned('me@here', place)
      const { 'me@here': record } = await peering.records(place)
      expect(record).toEqual({ priority: 7, lifetime: 60, lastseen: expect.stringMatching(timestamp) })
      expect(Math.abs(Date.parse(record!.lastseen) - lab.clock.now())).toBeLessThan(5000)
      await lab.stop(running)
      expect(await peering.records(place)).toEqual({})
    },
  )
})

test('an operator has a record in the peerings of both groups if both exist', async () => {
  const groups: Group[] = ['kopf.dev', 'zalando.org']
  for (const group of groups) await peering.create({ group })
  const running = await lab.start(createOperator(), { identity: 'me' })
  for (const group of groups) await peering.untilSigned('me', { group })
  await lab.stop(running)
  for (const group of groups) expect(await peering.records({ group })).toEqual({})
})

test('a peering costs one watch, one write at the start, one per keep-alive, and one at the end', async () => {
  await peering.create()
  const recording = lab.record()
  const lifetime = lab.isReal ? 11 : 60
  const running = await lab.start(createOperator(lifetime), { identity: 'me', transport: recording })
  const seen: PeeringRecord[] = []
  await lab.until(async () => {
    const { me } = await peering.records()
    if (me !== undefined && me.lastseen !== seen.at(-1)?.lastseen) seen.push(me)
    return seen.length === (lab.isReal ? 2 : 6)
  })
  const pauses = seen
    .slice(1)
    .map(({ lastseen }, index) => (Date.parse(lastseen) - Date.parse(seen[index]!.lastseen)) / 1000)
  for (const pause of pauses) {
    expect(pause).toBeGreaterThanOrEqual(lifetime - 10)
    expect(pause).toBeLessThanOrEqual(lifetime - 5 + (lab.isReal ? 1 : 0))
  }
  await lab.stop(running)
  const asked = peeringRequests(recording)
  expect(asked.filter((one) => one === 'PATCH')).toHaveLength(seen.length + 1)
  // The API server ends watches from time to time; a streaming list needs no separate GET.
  if (lab.isReal) expect(asked.filter((one) => one !== 'PATCH')).toEqual(['GET watch'])
  else expect(asked.filter((one) => one === 'GET')).toEqual([])
})

test('an operator writes nothing without a peering object, and its record as soon as the object exists', async () => {
  const recording = lab.record()
  await lab.start(createOperator(), { identity: 'me', transport: recording })
  await lab.elapse(lab.isReal ? 1 : 300)
  expect(peeringRequests(recording)).not.toContain('PATCH')
  await peering.create()
  await peering.untilSigned('me')
})

test('an operator writes its record again when the peering object is created again', async () => {
  await peering.create()
  const running = await lab.start(createOperator(), { identity: 'me' })
  await peering.untilSigned('me')
  await peering.delete()
  await peering.create()
  await peering.untilSigned('me')
  await lab.stop(running)
  expect(await peering.records()).toEqual({})
})

test('an operator leaves the records of others in the peering unchanged', async () => {
  await peering.create()
  await peering.sign('them', { priority: -5, extra: 'kept' })
  const before = await peering.records()
  const running = await lab.start(createOperator(), { identity: 'me' })
  await peering.untilSigned('me')
  await lab.stop(running)
  expect(await peering.records()).toEqual(before)
})

test('the identity of a run consists of user, host, time and a random part', async () => {
  await peering.create()
  await lab.start(createOperator())
  await lab.until(async () => Object.keys(await peering.records()).length === 1)
  const [identity] = Object.keys(await peering.records())
  expect(identity).toMatch(/^[^@/]+@[^@/]+\/\d{14}\/[a-z0-9]{3}$/)
})

test('keep-alives are logged at the debug level, unless the peering is stealthy', async () => {
  await peering.create()
  const kopf = createOperator()
  await lab.start(kopf, { identity: 'me' })
  await lab.untilLogged(`Keep-alive in '${peering.name}' in '${lab.namespace}': ok.`)
  await lab.stopAll()
  const silent = createOperator()
  silent.settings.peering.stealth = true
  await lab.start(silent, { identity: 'me' })
  await peering.untilSigned('me')
  expect(lab.logs.filter((line) => line.includes('Keep-alive'))).toEqual([])
})
