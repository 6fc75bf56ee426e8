import { Operator } from 'kopf'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TransportResponse } from '../../src/util/transport.ts'
import { crdsPath } from '../support/crds.ts'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import type { Recording } from '../support/recording.ts'

const lab = useCleanLab()
const errorDelays = [0.2, 0.4, 0.8]

/** Refuses this number of patches of one object, and returns their times. */
function refuse(wire: Recording, name: string, times: () => number): number[] {
  const cameMs: number[] = []
  wire.meddle = async ({ method, path }, send) => {
    if (method !== 'PATCH' || path !== lab.path(name)) return send()
    cameMs.push(lab.clock.now())
    return cameMs.length > times() ? send() : refusal()
  }
  return cameMs
}

function refusal(): TransportResponse {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: 'not so',
    reason: 'Invalid',
    code: 422,
  }
  async function* body() {
    yield Buffer.from(JSON.stringify(status))
  }
  return { status: 422, headers: { 'content-type': 'application/json' }, body: body() }
}

function pausesBetween(timesMs: readonly number[]): number[] {
  return timesMs.slice(1).map((time, index) => (time - timesMs[index]!) / 1000)
}

test('a refused write is retried at growing intervals, and other objects are handled', async () => {
  const calls: string[] = []
  const kopf = new Operator({ settings: { queueing: { errorDelays } } })
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ name }) => void calls.push(name))
  const wire = lab.record()
  const cameMs = refuse(wire, 'refused', () => 4)
  await lab.start(kopf, { transport: wire })
  await lab.create('refused', { spec: {} })
  await lab.until(() => cameMs.length === 1)
  await lab.create('other', { spec: {} })
  await untilHandled(lab, 'other')
  expect(cameMs.length).toBeLessThan(5)
  await untilHandled(lab, 'refused')
  const expected = [0.2, 0.4, 0.8, 0.8]
  const pauses = pausesBetween(cameMs)
  if (!lab.isReal) expect(pauses).toEqual(expected)
  expect(pauses).toHaveLength(4)
  for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(expected[index]! - 0.01)
  expect(calls).toEqual(['refused', 'other'])
  const log = lab.logs.join('\n')
  expect(log).toContain(`[${lab.namespace}/refused] Throttling for 0.2 seconds due to an unexpected error: `)
  expect(log).toContain('Throttling for 0.8 seconds')
  expect(log).toContain('not so')
  expect(log).toContain('Throttling is over. Switching back to normal operations.')
  expect(log).not.toContain(`[${lab.namespace}/other] Throttling`)
})

test('the retry intervals of an object start over after a success', async () => {
  let times = 2
  const kopf = new Operator({ settings: { queueing: { errorDelays } } })
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  kopf.on.update(lab.widgets, { id: 'u' }, () => {})
  const wire = lab.record()
  const cameMs = refuse(wire, 'twice', () => times)
  await lab.start(kopf, { transport: wire })
  await lab.create('twice', { spec: { n: 1 } })
  await untilHandled(lab, 'twice')
  expect(cameMs).toHaveLength(3)
  times = 4
  await lab.patch('twice', { spec: { n: 2 } })
  await untilHandled(lab, 'twice')
  const pauses = lab.logs.flatMap((line) => /Throttling for ([\d.]+) seconds/.exec(line)?.[1] ?? [])
  expect(pauses).toEqual(['0.2', '0.4', '0.2'])
})

test('a patch that is always refused is dropped with the next change of the object', async () => {
  const calls: unknown[] = []
  const kopf = new Operator({ settings: { queueing: { errorDelays } } })
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ spec, patch }) => {
    calls.push(spec['label'])
    patch.metadata.labels['a'] = String(spec['label'])
  })
  await lab.start(kopf)
  await lab.create('invalid', { spec: { label: 'no label at all!' } })
  await lab.untilLogged('Throttling for 0.4 seconds')
  expect(lab.logs.join('\n')).toContain('a valid label must')
  await lab.patch('invalid', { spec: { label: 'fine' } })
  await lab.untilObject('invalid', ({ metadata }) => metadata.labels?.['a'] === 'fine')
  await settle(lab)
  expect(calls).toEqual(['no label at all!', 'fine'])
})

test.skipIf(lab.isReal)('a server that fails for a while delays the writes and loses none', async () => {
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [0.1] }, queueing: { errorDelays } } })
  const calls: string[] = []
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ name }) => {
    calls.push(name)
    return 'done'
  })
  await lab.start(kopf)
  lab.server.faults.add({ on: { verb: 'patch' }, effect: { type: 'error', status: 500 }, times: 5 })
  await lab.create('patient', { spec: {} })
  const { status } = await untilHandled(lab, 'patient')
  expect(status).toEqual({ fn: 'done' })
  expect(calls).toEqual(['patient'])
})

describe('values that the schema refuses', () => {
  const kind = `Typed${lab.group.slice(1, 9)}`
  const plural = `${kind.toLowerCase()}s`
  const status = {
    type: 'object',
    properties: {
      replicas: { type: 'integer' },
      returns: { type: 'object', properties: { size: { type: 'integer' } } },
      list: { type: 'array', items: { type: 'string' } },
      phase: { type: 'string' },
    },
  }
  const schema = { type: 'object', properties: { spec: { type: 'object' }, status } }
  const selector = [lab.group, 'v1', plural] as const
  const path = lab.path('', plural)
  beforeAll(() => lab.install({ kind, plural, schema, subresources: { status: {} } }))
  afterAll(() => lab.call('DELETE', `${crdsPath}/${plural}.${lab.group}`))

  async function refusalOf(kopf: Operator, name: string): Promise<string> {
    await lab.start(kopf)
    await lab.call('POST', path, { apiVersion: `${lab.group}/v1`, kind, metadata: { name } })
    await lab.untilLogged(`Cannot write the status of ${lab.namespace}/${name}`)
    return lab.logs.find((line) => line.includes('Cannot write the status of'))!
  }

  test('a refused status names for each invalid field the handler that has set it', async () => {
    const kopf = new Operator({ settings: { queueing: { errorDelays } } })
    kopf.on.create(selector, { id: 'fits' }, ({ patch }) => void Object.assign(patch.status, { phase: 'Ready' }))
    kopf.on.create(selector, { id: 'scales' }, ({ patch }) => void Object.assign(patch.status, { replicas: 'many' }))
    kopf.on.create(selector, { id: 'returns' }, () => ({ size: 'large' }))
    const line = await refusalOf(kopf, 'typed')
    expect(line).toContain(
      `Cannot write the status of ${lab.namespace}/typed: the API server refuses it (422 Invalid): status.replicas: Invalid value: "string": `,
    )
    expect(line).toContain('must be of type integer: "string" (set by handler "scales": patch.status.replicas)')
    expect(line).toMatch(/status\.returns\.size: Invalid value: .* \(returned by handler "returns"\)/)
    expect(line).not.toContain('"fits"')
  })

  test('a refused status names the handler whose function has set the field', async () => {
    const kopf = new Operator({ settings: { queueing: { errorDelays } } })
    kopf.on.create(selector, { id: 'edits' }, ({ patch }) => {
      patch.fns.push((body) => {
        body['status'] = { list: [1] }
      })
    })
    expect(await refusalOf(kopf, 'edited')).toMatch(
      /status\.list\[0\]: Invalid value: .* \(probably set by a function in patch\.fns of handler "edits"\)/,
    )
  })

  test('a refused status of a timer names the timer', async () => {
    const kopf = new Operator()
    kopf.timer(selector, { id: 'tick', interval: 60, labels: { timed: 'yes' } }, ({ patch }) => {
      patch.status['list'] = [[]]
    })
    await lab.start(kopf)
    const metadata = { name: 'timed', labels: { timed: 'yes' } }
    await lab.call('POST', path, { apiVersion: `${lab.group}/v1`, kind, metadata })
    await lab.untilLogged('Cannot write the status of')
    await lab.call('DELETE', `${path}/timed`)
    await lab.until(async () => (await lab.call('GET', `${path}/timed`)).status === 404)
    expect(lab.logs.join('\n')).toMatch(
      /Timer 'tick': its patch could not be written: Cannot write the status of \S+timed: .* \(set by handler "tick": patch\.status\.list\[0\]\)/,
    )
  })
})
