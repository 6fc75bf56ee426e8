import { getEventListeners } from 'node:events'
import { Operator } from 'kopf'
import { describe, expect, test } from 'vitest'
import { untilHandled, useCleanLab } from '../support/handled.ts'
import { Door, widget } from './admission-support.ts'

const lab = useCleanLab()

type Args = Readonly<Record<string, unknown>>

/** Starts an operator with one validating handler that records its arguments. */
async function startWith(options: object = {}): Promise<{ door: Door; calls: Args[] }> {
  const calls: Args[] = []
  const kopf = new Operator()
  kopf.on.validate(lab.widgets, { id: 'check', ...options }, (args) => void calls.push(args as unknown as Args))
  const door = new Door(lab, kopf)
  await lab.start(kopf)
  return { door, calls }
}

describe('admission handler arguments', () => {
  test('an admission handler of a creation gets the new object and no old one', async () => {
    const { door, calls } = await startWith({ param: 42 })
    const labels = { app: 'web' }
    const annotations = { 'example.com/a': 'b' }
    const object = widget(lab, { metadata: { labels, annotations }, status: { phase: 'New' } })
    const answer = await door.ask({ object })
    expect(answer).toEqual({ uid: 'review-uid', allowed: true })
    expect(calls).toHaveLength(1)
    expect(calls[0]).toMatchObject({
      operation: 'CREATE',
      subresource: undefined,
      dryrun: false,
      userinfo: { username: 'admin', groups: ['system:authenticated'] },
      headers: {},
      sslpeer: undefined,
      warnings: [],
      old: undefined,
      new: object,
      body: object,
      spec: { size: 1 },
      status: { phase: 'New' },
      labels,
      annotations,
      meta: object['metadata'],
      name: 'one',
      namespace: lab.namespace,
      uid: undefined,
      param: 42,
      retry: 0,
      // On a real cluster, some time passes between the start and the call.
      runtime: lab.isReal ? expect.any(Number) : 0,
      resource: { group: lab.group, version: 'v1', plural: 'widgets', kind: 'Widget' },
    })
    expect(calls[0]!['diff']).toEqual([['add', [], undefined, object]])
    expect(calls[0]!['started']).toBeInstanceOf(Date)
    expect(calls[0]!['signal']).toBeInstanceOf(AbortSignal)
  })

  test('an admission handler of an update gets the old and the new object and the diff of the whole object', async () => {
    const { door, calls } = await startWith()
    const oldObject = widget(lab, { metadata: { uid: 'u', generation: 1 } })
    const object = widget(lab, { metadata: { uid: 'u', generation: 2 }, spec: { size: 2 } })
    await door.ask({ operation: 'UPDATE', object, oldObject })
    expect(calls[0]).toMatchObject({ operation: 'UPDATE', old: oldObject, new: object, body: object, uid: 'u' })
    const diff = calls[0]!['diff'] as ReadonlyArray<readonly unknown[]>
    expect(diff).toHaveLength(2)
    expect(diff).toContainEqual(['change', ['metadata', 'generation'], 1, 2])
    expect(diff).toContainEqual(['change', ['spec', 'size'], 1, 2])
  })

  test('an admission handler of a deletion gets the object that would be deleted', async () => {
    const { door, calls } = await startWith()
    const oldObject = widget(lab, { metadata: { uid: 'u' } })
    await door.ask({ operation: 'DELETE', object: null, oldObject })
    expect(calls[0]).toMatchObject({ operation: 'DELETE', old: oldObject, new: undefined, body: oldObject })
    expect(calls[0]!['diff']).toEqual([['remove', [], oldObject, undefined]])
  })

  test('an admission handler for a Namespace gets no namespace, although the request names one', async () => {
    const calls: Args[] = []
    const kopf = new Operator()
    kopf.on.validate('namespaces', (args) => void calls.push(args as unknown as Args))
    const door = new Door(lab, kopf)
    await lab.start(kopf)
    await door.ask({
      kind: { group: '', version: 'v1', kind: 'Namespace' },
      resource: { group: '', version: 'v1', resource: 'namespaces' },
      name: 'team',
      namespace: 'team',
      object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } },
    })
    expect(calls).toMatchObject([{ name: 'team', namespace: undefined }])
  })

  test('an admission handler of a CONNECT request gets the options object of the request as its body', async () => {
    const { door, calls } = await startWith({ subresource: 'exec' })
    const object = { apiVersion: 'v1', kind: 'PodExecOptions', command: ['sh'] }
    const answer = await door.ask({ operation: 'CONNECT', subResource: 'exec', object })
    expect(answer.allowed).toBe(true)
    expect(calls[0]).toMatchObject({ operation: 'CONNECT', subresource: 'exec', name: 'one', namespace: lab.namespace })
    expect(calls[0]).toMatchObject({ meta: {}, spec: {}, status: {}, labels: {}, annotations: {}, body: object })
    expect(lab.logs.filter((line) => line.includes("Handler 'check' succeeded"))).toEqual([
      `[${lab.namespace}/one] Handler 'check' succeeded.`,
    ])
  })

  test('an admission handler of a creation with generateName gets no name', async () => {
    const { door, calls } = await startWith()
    const object = { ...widget(lab), metadata: { generateName: 'some-', namespace: lab.namespace } }
    await door.ask({ name: '', object })
    expect(calls[0]).toMatchObject({ name: undefined, meta: { generateName: 'some-' } })
    expect(lab.logs.filter((line) => line.startsWith(`[${lab.namespace}/some-*]`))).not.toEqual([])
  })

  test('an admission handler gets the dry-run flag, the headers, the TLS peer and a signal of the request', async () => {
    const { door, calls } = await startWith()
    const headers = { 'user-agent': 'kube-apiserver-admission' }
    const sslpeer = { subject: { CN: 'kube-apiserver' } } as never
    const client = new AbortController()
    await door.ask({ dryRun: true }, { headers, sslpeer, signal: client.signal })
    expect(calls[0]).toMatchObject({ dryrun: true, headers, sslpeer })
    expect((calls[0] as unknown as { signal: AbortSignal }).signal.aborted).toBe(false)
    // Each request must remove its listener from the signal: an operator answers many.
    expect(getEventListeners(client.signal, 'abort')).toEqual([])
  })

  test('the objects that an admission handler gets are read-only', async () => {
    const errors: unknown[] = []
    const kopf = new Operator()
    kopf.on.mutate(lab.widgets, ({ body, old, new: now, userinfo }) => {
      for (const value of [body.spec, old!.spec, now!.spec, userinfo]) {
        try {
          ;(value as { size: number }).size = 5
        } catch (error) {
          errors.push(error)
        }
      }
    })
    const door = new Door(lab, kopf)
    await lab.start(kopf)
    const { allowed, patch } = await door.ask({ operation: 'UPDATE', oldObject: widget(lab) })
    expect({ allowed, patch }).toEqual({ allowed: true, patch: undefined })
    expect(errors.map((error) => error instanceof TypeError)).toEqual([true, true, true, true])
  })

  test('the client of an admission handler defaults to the namespace of the request', async () => {
    await lab.create('neighbour', { spec: { size: 7 } })
    const kopf = new Operator()
    kopf.on.validate(lab.widgets, async ({ client, warnings }) => {
      const { spec } = await client.get(lab.widgets, 'neighbour')
      warnings.push(`the neighbour is of size ${spec['size']}`)
    })
    const door = new Door(lab, kopf)
    await lab.start(kopf)
    const { warnings } = await door.ask()
    expect(warnings).toEqual(['the neighbour is of size 7'])
  })
})

test('log lines of admission handlers are not posted as Kubernetes events', async () => {
  const kopf = new Operator({ settings: { posting: { loggers: true, level: 'debug' } } })
  kopf.on.validate(lab.widgets, { id: 'check' }, ({ logger }) => {
    logger.error('something is wrong')
    throw new Error('on purpose')
  })
  const door = new Door(lab, kopf)
  const transport = lab.record()
  const running = await lab.start(kopf, { transport })
  const object = await lab.create('one')
  await door.ask({ operation: 'UPDATE', object, oldObject: object })
  expect(lab.logs).toContain(`[${lab.namespace}/one] something is wrong`)
  expect(lab.logs.some((line) => line.includes("Handler 'check' failed with an exception and will stop now"))).toBe(
    true,
  )
  await lab.stop(running)
  expect(transport.requests.filter(({ path }) => path.endsWith('/events'))).toEqual([])
})

describe('memo', () => {
  test('the memo of a watched object is shared with its admission handlers, except for creations', async () => {
    const kopf = new Operator({ memo: () => ({ seen: [] as string[] }) })
    const memos: object[] = []
    kopf.on.create(lab.widgets, ({ memo }) => {
      memo.seen = ['handled']
    })
    kopf.on.validate(lab.widgets, ({ memo, operation }) => {
      memos.push(memo)
      memo.seen = [...memo.seen, operation]
    })
    const door = new Door(lab, kopf)
    await lab.start(kopf)
    await lab.create('one', { spec: { size: 1 } })
    const object = await untilHandled(lab, 'one')
    await door.ask({ object })
    await door.ask({ operation: 'UPDATE', object, oldObject: object })
    await door.ask({ operation: 'DELETE', object: null, oldObject: object })
    expect(memos).toEqual([
      { seen: ['CREATE'] },
      { seen: ['handled', 'UPDATE', 'DELETE'] },
      { seen: ['handled', 'UPDATE', 'DELETE'] },
    ])
    expect(memos[1]).toBe(memos[2])
  })

  test('the memo of an object that is not watched is discarded after the admission request', async () => {
    const kopf = new Operator({ memo: () => ({ calls: 0 }) })
    const calls: number[] = []
    kopf.on.validate(lab.widgets, ({ memo }) => {
      memo.calls += 1
      calls.push(memo.calls)
    })
    const door = new Door(lab, kopf)
    await lab.start(kopf)
    const object = widget(lab, { metadata: { uid: 'u' } })
    await door.ask({ operation: 'UPDATE', object, oldObject: object })
    await door.ask({ operation: 'UPDATE', object, oldObject: object })
    expect(calls).toEqual([1, 1])
  })
})

test('admission handlers are called only after the indices are complete', async () => {
  await lab.create('first')
  await lab.create('second')
  const kopf = new Operator()
  const names = kopf.index(lab.widgets, ({ name }) => [[name, true]] as const)
  const counts: number[] = []
  kopf.on.validate(lab.widgets, ({ indices }) => {
    counts.push(names.size, indices['index']!.size)
  })
  const door = new Door(lab, kopf)
  const transport = lab.record()
  let early: Promise<unknown> | undefined
  let isAnswered = false
  transport.meddle = async (request, send) => {
    if (request.path === lab.path() && early === undefined) {
      early = door.ask().then(() => (isAnswered = true))
      await new Promise(setImmediate)
      expect(isAnswered).toBe(false)
    }
    return send()
  }
  await lab.start(kopf, { transport })
  await lab.until(() => isAnswered)
  await early
  expect(counts).toEqual([2, 2])
})
