/** Start and end of operators with webhooks: the order of the steps, and webhook servers that fail. */
import { Operator, type WebhookServerLike } from 'kopf'
import { expect, test } from 'vitest'
import { anywhere, askLab } from '../activities/activity-support.ts'
import { useCleanLab } from '../support/handled.ts'
import { gate } from '../support/recording.ts'
import { collection, Desk, type Loose, registration, reviewOf, tellings, useManaged } from './managed-webhooks.ts'

const lab = useCleanLab()
const managed = useManaged(lab)
const url = 'https://127.0.0.1:1/'

const reviewed = (server: WebhookServerLike): Operator => {
  const kopf = new Operator({ settings: { admission: { managed: managed.name, server } } })
  kopf.on.validate(lab.widgets, { id: 'check' }, () => {})
  kopf.on.event(lab.widgets, () => {})
  return kopf
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))

/** The error of a start or a run that fails. */
const failure = (starting: Promise<unknown>): Promise<Loose> =>
  starting.then(
    () => undefined,
    (error: unknown) => error,
  )

/** Starts the operator without waiting for it. */
function begin(kopf: Operator, options: Parameters<typeof lab.start>[1] = {}) {
  const state = { isReady: false }
  const starting = lab.start(kopf, options).then((running) => {
    state.isReady = true
    return running
  })
  starting.catch(() => {})
  return { state, starting }
}

test('the operator is ready once its webhook server is up and the configuration is written', async () => {
  const [up, told] = [gate(), gate()]
  const wire = lab.record()
  wire.meddle = async ({ method, path }, send) => {
    if (method === 'POST' && path.startsWith(registration)) await told.opened
    return send()
  }
  const kopf = reviewed(async function* (_, { signal }) {
    await up.opened
    yield { url }
    await aborted(signal)
  })
  const { state, starting } = begin(kopf, { transport: wire, livenessEndpoint: anywhere })
  await lab.untilLogged(`Watching widgets.v1.${lab.group}`)
  const readyz = () => lab.outside(askLab(lab, '/readyz'))
  await lab.until(async () => (await readyz()).body.checks.streams.ok)
  expect(await readyz()).toMatchObject({
    status: 503,
    body: { ready: false, checks: { webhooks: { ok: false, state: 'starting' } } },
  })
  expect(tellings(wire)).toEqual([])
  up.open()
  await lab.until(() => tellings(wire).length > 0)
  expect(state.isReady).toBe(false)
  expect((await readyz()).status).toBe(503)
  told.open()
  await starting
  expect(await managed.ids()).toEqual(['check'])
  expect(await readyz()).toMatchObject({
    status: 200,
    body: { ready: true, checks: { webhooks: { ok: true, state: 'serving' } } },
  })
})

test('the readiness of an operator without webhooks has no webhook check', async () => {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, () => {})
  await lab.start(kopf, { livenessEndpoint: anywhere })
  expect((await lab.outside(askLab(lab, '/readyz'))).body.checks).not.toHaveProperty('webhooks')
})

test('the operator empties its configuration first, then closes the webhook server, then runs cleanup handlers', async () => {
  const desk = new Desk()
  const order: string[] = []
  const wire = lab.record()
  wire.meddle = async ({ method, path }, send) => {
    const response = await send()
    if (method === 'PATCH' && path.startsWith(registration)) order.push(`told ${desk.events.join()}`)
    return response
  }
  const kopf = reviewed(desk)
  kopf.on.cleanup(() => void order.push(`cleanup ${desk.events.join()}`))
  await lab.stop(await lab.start(kopf, { transport: wire }))
  expect(order).toEqual(['told opened', 'cleanup opened,closed'])
})

test('reviews are answered while the webhook configuration is being emptied', async () => {
  const desk = new Desk()
  const answers: Loose[] = []
  const wire = lab.record()
  wire.meddle = async ({ method, path }, send) => {
    if (method === 'PATCH' && path.startsWith(registration)) answers.push(await desk.answer!(reviewOf(lab)))
    return send()
  }
  const kopf = reviewed(desk)
  kopf.on.validate(lab.widgets, { id: 'another' }, ({ signal, warnings }) => void warnings.push(`${signal.aborted}`))
  await lab.stop(await lab.start(kopf, { transport: wire }))
  expect(answers.map(({ response }) => response)).toEqual([{ uid: 'u1', allowed: true, warnings: ['false'] }])
})

test('an operator that is stopped before its webhook server is up ends without a write', async () => {
  const wire = lab.record()
  const controller = new AbortController()
  const events: string[] = []
  const kopf = reviewed(async function* (_, { signal }) {
    await aborted(signal)
    events.push('told to end')
    yield { url }
  })
  const { starting } = begin(kopf, { transport: wire, signal: controller.signal })
  await lab.untilLogged(`Watching widgets.v1.${lab.group}`)
  controller.abort()
  await expect(starting).rejects.toMatchObject({ code: 'KOPF_STOPPED' })
  await lab.stopAll()
  expect(events).toEqual(['told to end'])
  expect(tellings(wire)).toEqual([])
})

test('an operator with webhooks can be started again after it has ended', async () => {
  const desk = new Desk()
  const kopf = reviewed(desk)
  for (const _ of [1, 2]) {
    const running = await lab.start(kopf)
    expect(await managed.ids()).toEqual(['check'])
    await lab.stop(running)
    expect(await managed.ids()).toEqual([])
  }
  expect(desk.events).toEqual(['opened', 'closed', 'opened', 'closed'])
})

const broken: Record<string, [WebhookServerLike, string]> = {
  'fails when it starts': [
    // biome-ignore lint/correctness/useYield: it does not get to it.
    async function* () {
      throw new Error('no port is free')
    },
    'The webhook server has failed: no port is free',
  ],
  'throws before it returns a generator': [
    () => {
      throw new TypeError('not so')
    },
    'The webhook server has failed: not so',
  ],
  'is not a generator': [(() => Promise.resolve()) as never, 'The webhook server is not an async iterable'],
  'yields an invalid URL': [
    async function* () {
      yield { url: 5 } as never
    },
    'The webhook server has yielded no address',
  ],
  'yields a service without a name': [
    async function* () {
      yield { service: { namespace: 'default' } } as never
    },
    'The webhook server has yielded no address',
  ],
}

test.each(Object.entries(broken))('a webhook server that %s fails the operator', async (_, [server, message]) => {
  const error = await failure(lab.start(reviewed(server)))
  expect(error).toMatchObject({ code: 'KOPF_WEBHOOK_SERVER', message: expect.stringContaining(message) })
  expect(await managed.get()).toBeUndefined()
})

test('a webhook server that fails later stops the operator, which empties its configuration', async () => {
  const broken = gate()
  const running = await lab.start(
    reviewed(async function* () {
      yield { url }
      await broken.opened
      throw new Error('the tunnel is closed')
    }),
  )
  const failed = failure(running.done)
  broken.open()
  await lab.until(() => running.stopping.aborted)
  await lab.stopAll()
  expect((await failed).message).toBe('The webhook server has failed: the tunnel is closed')
  expect(await managed.webhooks()).toEqual([])
})

test.skipIf(lab.isReal)('a webhook server that does not end is abandoned after a while', async () => {
  const running = await lab.start(
    reviewed(async function* () {
      yield { url }
      await new Promise(() => {})
    }),
  )
  const beforeMs = lab.clock.now()
  await lab.stop(running)
  expect(lab.clock.now() - beforeMs).toBeLessThan(15_000)
  expect(lab.logs.join('\n')).toContain('The webhook server has not ended, although its signal is aborted')
  expect(await managed.webhooks()).toEqual([])
})

test('a webhook server that fails while it ends or is disposed of does not fail the operator', async () => {
  const running = await lab.start(
    reviewed({
      async *serve(_fn: unknown, { signal }: { signal: AbortSignal }) {
        yield { url }
        await aborted(signal)
        throw new Error('the tunnel has gone first')
      },
      [Symbol.asyncDispose]: async () => {
        throw new Error('the socket sticks')
      },
    }),
  )
  await lab.stop(running)
  await running.done
  expect(lab.logs.join('\n')).toContain('The webhook server has ended with an error: the tunnel has gone first')
  expect(lab.logs.join('\n')).toContain('The webhook server cannot be disposed of: the socket sticks')
  expect(await managed.webhooks()).toEqual([])
})

test('a webhook server that yields an invalid address later stops the operator', async () => {
  const desk = new Desk()
  const kopf = reviewed(desk)
  kopf.on.validate('pods', { id: 'more', labels: { 'kopf.dev/never': 'here' } }, () => {})
  const running = await lab.start(kopf)
  expect(await managed.ids()).toEqual(['check', 'more'])
  const failed = failure(running.done)
  desk.move({} as never)
  await lab.until(() => running.stopping.aborted)
  await lab.stopAll()
  expect((await failed).message).toContain('has yielded no address')
  expect(await managed.webhooks()).toEqual([])
})

test.skipIf(lab.isReal)('an operator with webhooks leaves no timer and no watch behind', async () => {
  const running = await lab.start(reviewed(new Desk()))
  // Two webhook configurations, the widgets, and the CRDs.
  expect(lab.server.openWatches).toBe(4)
  await lab.stop(running)
  await lab.elapse(0)
  expect(lab.skippingClock.sleeping).toBe(0)
  expect(lab.server.openWatches).toBe(0)
})

test('webhook configurations are requested by name only', async () => {
  const wire = lab.record()
  await lab.start(reviewed(new Desk()), { transport: wire })
  const looks = wire.requests.filter(({ method, path }) => method === 'GET' && path.startsWith(registration))
  expect(new Set(looks.map(({ path }) => path))).toEqual(new Set([collection('validating'), collection('mutating')]))
  for (const { query } of looks) expect(query.get('fieldSelector')).toBe(`metadata.name=${managed.name}`)
})
