import { AdmissionError, KopfError, Operator, type WebhookFn } from 'kopf'
import { describe, expect, test } from 'vitest'
import { crdsPath } from '../support/crds.ts'
import { useCleanLab } from '../support/handled.ts'
import { gate } from '../support/recording.ts'
import { Door, widget } from './admission-support.ts'

const lab = useCleanLab()

describe('webhook servers', () => {
  test.each<[string, (kopf: Operator) => void]>([
    ['validate', (kopf) => kopf.on.validate(lab.widgets, () => {})],
    ['mutate', (kopf) => kopf.on.mutate(lab.widgets, () => {})],
    ['convert', (kopf) => kopf.on.convert(lab.widgets, { from: 'v1', to: 'v2' }, () => ({}))],
  ])('an operator with %s handlers fails to start without a webhook server', async (_kind, register) => {
    const kopf = new Operator()
    register(kopf)
    const transport = lab.record()
    const error: unknown = await lab.start(kopf, { transport }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(KopfError)
    expect(error).toMatchObject({
      code: 'KOPF_WEBHOOK_SERVER',
      message: expect.stringContaining('Admission handlers exist, but no admission server/tunnel is configured'),
    })
    expect(transport.requests).toEqual([])
  })

  test('a webhook server can be set by a startup handler', async () => {
    const kopf = new Operator()
    let door: Door | undefined
    kopf.on.validate(lab.widgets, () => {})
    kopf.on.startup(() => {
      door = new Door(lab, kopf)
    })
    await lab.start(kopf)
    expect((await door!.ask()).allowed).toBe(true)
  })

  test('a webhook server is not started if there are no webhook handlers', async () => {
    const kopf = new Operator()
    let isStarted = false
    kopf.on.event(lab.widgets, () => {})
    kopf.settings.admission.server = async function* () {
      isStarted = true
      yield { url: 'https://hooks.example.com' }
    }
    await lab.start(kopf)
    expect(isStarted).toBe(false)
  })

  test.each<[string, object | undefined]>([
    ['no address', {}],
    ['both a URL and a service', { url: 'https://a.example.com', service: { namespace: 'n', name: 's' } }],
    ['nothing', undefined],
  ])('a webhook server that yields %s fails the operator', async (_name, config) => {
    const kopf = new Operator()
    kopf.on.validate(lab.widgets, () => {})
    kopf.settings.admission.server = async function* () {
      yield config as never
    }
    await expect(lab.start(kopf)).rejects.toThrow('The webhook server has yielded no address')
  })

  test('a webhook server that ends by itself fails the operator', async () => {
    const kopf = new Operator()
    const end = gate()
    kopf.on.validate(lab.widgets, () => {})
    kopf.settings.admission.server = async function* () {
      yield { url: 'https://hooks.example.com' }
      await end.opened
    }
    const running = await lab.start(kopf)
    end.open()
    await expect(running.done).rejects.toThrow('The webhook server has ended by itself')
  })

  test('a webhook server object is disposed of when the operator ends', async () => {
    const steps: string[] = []
    const kopf = new Operator()
    kopf.on.validate(lab.widgets, () => {})
    kopf.on.cleanup(() => void steps.push('cleaned up'))
    kopf.settings.admission.server = {
      async *serve(_fn: WebhookFn, { signal }: { signal: AbortSignal }) {
        yield { url: 'https://hooks.example.com' }
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        steps.push('told')
      },
      [Symbol.asyncDispose]: async () => void steps.push('disposed of'),
    }
    const running = await lab.start(kopf)
    await lab.stop(running)
    expect(steps).toEqual(['told', 'disposed of', 'cleaned up'])
  })
})

test('resources with webhook handlers only are neither listed nor watched', async () => {
  const kopf = new Operator()
  kopf.on.validate(lab.widgets, () => {})
  kopf.on.mutate('pods', () => {})
  const door = new Door(lab, kopf)
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await door.ask()
  await lab.create('unnoticed')
  // Every operator watches the CRDs and reviews its own access.
  const isAside = (path: string) => path === crdsPath || path.startsWith('/apis/authorization.k8s.io/')
  const asked = transport.requests.filter(({ path }) => !isAside(path))
  expect(asked.filter(({ query }) => query.get('watch') === 'true')).toEqual([])
  const paths = asked.map(({ method, path }) => `${method} ${path}`)
  expect(paths.filter((path) => !/^GET \/(api|apis)(\/[^/]+){0,2}$/.test(path))).toEqual([])
  expect(transport.writes()).toEqual([])
})

test('resources whose CRDs are created later are reviewed once they are served', async () => {
  const kopf = new Operator()
  kopf.on.validate([lab.group, 'v1', 'latecomers'], ({ warnings }) => void warnings.push('here'))
  const door = new Door(lab, kopf)
  await lab.start(kopf)
  const resource = { group: lab.group, version: 'v1', resource: 'latecomers' }
  await expect(door.ask({ resource })).rejects.toMatchObject({ status: 404 })
  await lab.install({ kind: 'Latecomer' })
  await lab.until(() =>
    door.ask({ resource }).then(
      ({ warnings }) => warnings?.[0] === 'here',
      () => false,
    ),
  )
  await lab.call('DELETE', `${crdsPath}/latecomers.${lab.group}`)
})

describe('stuck admission handlers', () => {
  async function startStuck() {
    const kopf = new Operator()
    let isCalled = false
    const signals: AbortSignal[] = []
    kopf.on.validate(lab.widgets, { id: 'stuck' }, async ({ signal }) => {
      isCalled = true
      signals.push(signal)
      await new Promise(() => {})
    })
    kopf.on.validate(lab.widgets, { id: 'quick' }, () => {
      throw new AdmissionError('at once')
    })
    const door = new Door(lab, kopf)
    const running = await lab.start(kopf)
    return { door, running, signals, untilCalled: () => lab.until(() => isCalled) }
  }

  test('an admission handler that never returns does not hold up other requests, and its signal is aborted on disconnect', async () => {
    const { door, signals, untilCalled } = await startStuck()
    const client = new AbortController()
    const stuck = door.ask({}, { webhook: 'stuck', signal: client.signal })
    await untilCalled()
    expect((await door.ask({}, { webhook: 'quick' })).status!.message).toBe('at once')
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    client.abort(new Error('gone'))
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    await expect(stuck).rejects.toThrow('gone')
  })

  test('an admission handler that never returns does not keep the operator from ending', async () => {
    const { door, running, signals, untilCalled } = await startStuck()
    const stuck = door.ask({}, { webhook: 'stuck' }).catch((error: Error) => error.name)
    await untilCalled()
    await lab.stop(running)
    expect(await stuck).toBe('AbortError')
    expect(door.isClosed).toBe(true)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })
})

test('reviews are answered without an aborted signal while the operator waits for its daemons', async () => {
  const kopf = new Operator()
  const end = gate()
  const aborted: boolean[] = []
  let isRunning = false
  kopf.daemon(lab.widgets, { finalizer: false, cancellationTimeout: 60 }, async () => {
    isRunning = true
    await end.opened
  })
  kopf.on.validate(lab.widgets, ({ signal }) => void aborted.push(signal.aborted))
  const door = new Door(lab, kopf)
  await lab.create('one')
  const running = await lab.start(kopf)
  await lab.until(() => isRunning)
  const stopping = lab.stop(running)
  await lab.untilLogged('Waiting for 1 daemon or timer to end')
  expect(running.stopping.aborted).toBe(true)
  expect((await door.ask()).allowed).toBe(true)
  expect(aborted).toEqual([false])
  end.open()
  await stopping
  expect(door.isClosed).toBe(true)
})

test('reviews that arrive before discovery is complete wait for it', async () => {
  const kopf = new Operator()
  kopf.on.validate(lab.widgets, () => {})
  const door = new Door(lab, kopf)
  const transport = lab.record()
  const known = gate()
  transport.meddle = async (_request, send) => {
    await known.opened
    return send()
  }
  let isReady = false
  void lab.start(kopf, { transport }).then(() => (isReady = true))
  await lab.until(() => door.fn !== undefined)
  let answer: unknown
  void door.ask({ object: widget(lab) }).then((given) => (answer = given))
  const gone = new AbortController()
  const impatient = door.ask({}, { signal: gone.signal })
  gone.abort(new Error('gone'))
  await expect(impatient).rejects.toThrow('gone')
  expect(lab.logs).toContain('The client no longer waits for the response to a review: gone')
  expect([answer, isReady]).toEqual([undefined, false])
  known.open()
  await lab.until(() => answer !== undefined && isReady)
  expect(answer).toMatchObject({ allowed: true })
})
