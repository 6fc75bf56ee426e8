import { type InWorkerOptions, inWorker, KopfError, Operator, PermanentError } from 'kopf'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { untilHandled, useCleanLab } from '../support/handled.ts'
import { useThreads } from '../support/threads.ts'
import { slots } from './workers/handlers.ts'

const lab = useCleanLab()
const handlers = new URL('./workers/handlers.ts', import.meta.url)
const failing = new URL('./workers/failing.ts', import.meta.url)
const background = new URL('./workers/background.ts', import.meta.url)

const threads = useThreads()
afterEach(async () => {
  await lab.stopAll()
  expect(threads.size).toBe(0)
})

/** The same function, for which no time is skipped while it runs, since the thread does not use the clock of the tests. */
function heavy(url: URL, options?: InWorkerOptions) {
  const fn = inWorker(url, options)
  return Object.defineProperty((args: object) => lab.outside(fn(args)), 'name', { value: fn.name })
}

function operatorWith(maxWorkers: number | null = null): Operator {
  return new Operator({ settings: { execution: { maxWorkers, defaultBackoff: 0.1 }, queueing: { exitTimeout: 0.2 } } })
}

/** Runs one create handler of `workers/handlers.ts` on one object to its end. */
async function handle(name: string, spec: object, options: object = {}, kopf: Operator = operatorWith()) {
  kopf.on.create(lab.widgets, options, heavy(handlers, { name }))
  await lab.start(kopf)
  await lab.create('one', { spec: { ...spec }, metadata: { labels: { app: 'web' } } })
  const body = await untilHandled(lab, 'one')
  return { body, status: body['status'] ?? {} }
}

const shareMemory = () => new SharedArrayBuffer(32)
const cellsOf = (memory: SharedArrayBuffer) => new Int32Array(memory)
const startedIn = (memory: SharedArrayBuffer) => Atomics.load(cellsOf(memory), slots.started)

/** Waits until the calls have begun, since threads start slowly. */
async function untilStarted(memory: SharedArrayBuffer, calls: number): Promise<void> {
  await lab.untilLogged('is invoked')
  await lab.outside(vi.waitFor(() => expect(startedIn(memory)).toBe(calls), { timeout: 10_000 }))
}

function release(memory: SharedArrayBuffer): void {
  Atomics.store(cellsOf(memory), slots.released, 1)
  Atomics.notify(cellsOf(memory), slots.released)
}

describe('handlers in workers', () => {
  test('a worker handler is named after its file or its export', () => {
    expect(inWorker(failing).name).toBe('failing')
    expect(inWorker(String(handlers), { name: 'block' }).name).toBe('block')
  })

  test('a worker handler has its patch and result stored, and its log lines in their order', async () => {
    const { body, status } = await handle('compute', { size: 21 })
    expect(status).toEqual({ phase: 'Ready', compute: { doubled: 42 } })
    expect(body.metadata.annotations?.['example.com/by']).toBe('one')
    const lines = lab.logs.filter((line) => /begins|goes on|ends/.test(line))
    expect(lines.map((line) => line.replace(`[${lab.namespace}/one] `, ''))).toEqual([
      'begins size=21 label="web"',
      'goes on',
      'ends',
    ])
  })

  test('a worker handler gets the same object as other handlers, without arguments that cannot be cloned', async () => {
    const { status } = await handle('look', { size: 1 })
    const uid = (await lab.get('one')).metadata.uid
    expect(status['look']).toEqual({
      same: true,
      frozen: true,
      kinds: ['one', lab.namespace, uid, 'widgets', 'create', 'number', 'number', 'undefined'],
      started: true,
      diff: [['add', []]],
      enumerable: [
        ...['annotations', 'body', 'diff', 'labels', 'logger', 'memo', 'meta', 'name', 'namespace', 'new', 'old'],
        ...['param', 'patch', 'reason', 'recorder', 'resource', 'retry', 'runtime', 'signal', 'spec', 'started'],
        ...['status', 'uid'],
      ],
    })
  })

  test('a worker handler that blocks its thread does not block other handlers', async () => {
    const memory = shareMemory()
    const kopf = operatorWith()
    kopf.on.create(lab.widgets, { labels: { slow: 'yes' }, param: memory }, heavy(handlers, { name: 'block' }))
    kopf.on.create(lab.widgets, { labels: { slow: 'no' }, id: 'quick' }, () => 'done')
    await lab.start(kopf)
    await lab.create('slow', { spec: {}, metadata: { labels: { slow: 'yes' } } })
    await untilStarted(memory, 1)
    await lab.create('quick', { spec: {}, metadata: { labels: { slow: 'no' } } })
    await untilHandled(lab, 'quick')
    expect((await lab.get('slow'))['status']).toBeUndefined()
    release(memory)
    expect((await untilHandled(lab, 'slow'))['status']).toEqual({ block: 'released' })
  })

  test('a worker handler gets a copy of the memo, without values that cannot be cloned', async () => {
    const kopf = new Operator({ memo: () => ({ calls: 1, socket: { close: () => {} } }) })
    const seen: number[] = []
    kopf.on.create(lab.widgets, { id: 'after' }, ({ memo }) => void seen.push(memo.calls))
    const { status } = await handle('remember', {}, {}, kopf as unknown as Operator)
    expect(status['remember']).toEqual({ calls: 2, listed: ['calls'] })
    expect(seen).toEqual([1])
  })

  test('a worker handler can post Kubernetes events', async () => {
    await handle('post', {})
    await lab.until(async () => {
      const { body } = await lab.call('GET', `/api/v1/namespaces/${lab.namespace}/events`)
      const events = (body as unknown as { items: { reason: string; message: string; type: string }[] }).items
      return (
        events.some(({ reason, message }) => reason === 'Computed' && message === 'in a worker') &&
        events.some(({ reason, message, type }) => reason === 'TypeError' && message === 'no luck' && type === 'Error')
      )
    })
  })

  test('a result of a worker handler is stored if it is JSON, and fails the handler permanently otherwise', async () => {
    const kopf = operatorWith(1)
    kopf.on.create(lab.widgets, heavy(handlers, { name: 'answer' }))
    await lab.start(kopf)
    const expected = {
      bigint: Number(2n ** 60n),
      date: '1970-01-01T00:00:00.000Z',
      nothing: undefined,
      function: undefined,
    }
    for (const [answer, stored] of Object.entries(expected)) {
      await lab.create(answer, { spec: { answer } })
      const { status } = await untilHandled(lab, answer)
      expect(status?.['answer']).toEqual(stored)
    }
    const failures = lab.logs.filter((line) => line.includes('failed permanently: '))
    expect(failures).toHaveLength(1)
    expect(failures[0]).toMatch(/function.*: Cannot pass the result of a worker .*; return plain data, or nothing$/)
  })
})

describe('unavailable arguments', () => {
  test('an argument that is unavailable in a worker throws an explanation when it is used', async () => {
    const kopf = new Operator({ memo: () => ({ socket: { close: () => {} } }) })
    kopf.on.create(lab.widgets, { errors: 'permanent', param: { key: () => {} } }, heavy(handlers, { name: 'touch' }))
    await lab.start(kopf)
    const home = 'it stays with the operator; do that part in an ordinary handler'
    const uncloneable = 'there is something in it that cannot be copied to another thread, such as a function'
    const why = {
      client: `Cannot use "client" in a worker: ${home}`,
      indices: `Cannot use "indices" in a worker: ${home}`,
      subhandler: `Cannot use "subhandler" in a worker: ${home}`,
      execute: `Cannot use "execute" in a worker: ${home}`,
      'memo.socket': `Cannot use "memo.socket" in a worker: ${uncloneable}`,
      'param.key': `Cannot use "param" in a worker: ${uncloneable}`,
      'patch.fns': 'Cannot use "patch.fns" in a worker: functions stay in their thread',
    }
    for (const [path, message] of Object.entries(why)) {
      await lab.create(path, { spec: { touch: path } })
      await untilHandled(lab, path)
      const failure = lab.logs.find((line) => line.includes(`/${path}] Handler 'touch' failed`))
      expect(failure).toContain(`will stop now: ${message}`)
    }
  })

  test('a worker handler cannot change the body', async () => {
    await handle('write', {}, { errors: 'permanent' })
    await lab.untilLogged('(the object is read-only: put what should change into "patch")')
  })

  test.each([
    ['./heavy.ts', /expected the address of a file: new URL\('\.\/heavy\.ts', import\.meta\.url\)/],
    [new URL('./workers/missing.ts', import.meta.url), /missing\.ts" in a worker: there is no such file/],
    [new URL('https://example.com/heavy.ts'), /expected the address of a file/],
  ])('inWorker refuses a module that cannot be run: %s', (url, message) => {
    expect(() => inWorker(url)).toThrow(message)
    expect(() => inWorker(url)).toThrow(KopfError)
  })

  test('a worker module without the function is reported at the first call', async () => {
    await handle('computed', {}, { errors: 'permanent' })
    await lab.untilLogged(
      '"computed" of "handlers.ts" in a worker: it exports no such function; did you mean "compute"?',
    )
  })
})

describe('errors of workers', () => {
  test('errors of a worker handler have the same effects and log lines as those of other handlers', async () => {
    const kopf = operatorWith(1)
    const times = new Map<string, number[]>()
    const fail = heavy(failing)
    kopf.on.create(lab.widgets, { id: 'failing' }, (args) => {
      times.set(args.name, [...(times.get(args.name) ?? []), lab.clock.now()])
      return fail(args)
    })
    await lab.start(kopf)
    const again = 'failed with an exception and will try again in 0.1 seconds'
    const expected: Record<string, readonly [line: string, tried: number]> = {
      temporary: ['failed temporarily: later', 1],
      derived: ['failed temporarily: soon', 1],
      permanent: ['failed permanently: never', 0],
      kopf: [`${again}: mine`, 1],
      range: [`${again}: too far`, 1],
      text: [`${again}: just text`, 1],
    }
    for (const [kind, [line, tried]] of Object.entries(expected)) {
      await lab.create(kind, { spec: { kind } })
      const { status } = await untilHandled(lab, kind)
      // The patch is written even if the handler has failed.
      expect(status).toEqual({ tried, ...(tried === 1 ? { failing: 'done' } : {}) })
      expect(lab.logs.some((one) => one.includes(`/${kind}] Handler 'failing' ${line}`))).toBe(true)
    }
    const [first, second] = times.get('temporary')!
    expect(second! - first!).toBeGreaterThanOrEqual(200)
  })

  test('an error of a worker handler has the stack of the thread, with the files of its author only', async () => {
    const failure = await failureOf('range')
    expect(failure).toBeInstanceOf(RangeError)
    expect(failure.stack).toMatch(/^RangeError: too far\n.*failing\.ts:\d+/)
    expect(failure.stack).not.toMatch(/features\/workers/)
  })
})

function stopping() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort(new Error('stop')) }
}

/** The error of a direct call of the function. */
async function failureOf(kind: string): Promise<Error> {
  const failed = inWorker(failing)({ spec: { kind }, patch: { status: {} }, retry: 0 })
  return failed.then(
    () => new Error('It did not fail'),
    (error: Error) => error,
  )
}

describe('direct calls', () => {
  test('a worker function that is called directly runs in its own thread, which ends with it', async () => {
    const patch: Record<string, unknown> = {}
    const lines: string[] = []
    const note = (message: string) => void lines.push(message)
    const logger = { debug: note, info: note, warn: note, error: note }
    const compute = inWorker(handlers, { name: 'compute' })
    const result = await compute({ spec: { size: 1 }, name: 'mine', labels: {}, patch, logger })
    expect(result).toEqual({ doubled: 2 })
    expect(patch).toEqual({ status: { phase: 'Ready' }, metadata: { annotations: { 'example.com/by': 'mine' } } })
    expect(lines).toEqual(['begins', 'goes on', 'ends'])
    expect(threads.size).toBe(0)
  })

  test("a worker daemon that is called directly waits by the caller's stopped, and frees its thread meanwhile", async () => {
    const lines: string[] = []
    const waits: unknown[] = []
    let wake = (_: boolean): void => {}
    const { signal, abort } = stopping()
    const stopped = {
      isSet: () => signal.aborted,
      reason: 'resource-deleted',
      signal,
      wait: (duration: unknown) => {
        waits.push(duration)
        return new Promise((resolve) => (wake = resolve))
      },
    }
    const call = inWorker(background, { name: 'ping' })({
      stopped,
      logger: { info: (line: string) => lines.push(line) },
    })
    await vi.waitFor(() => expect(waits).toEqual([0.2]), { timeout: 10_000 })
    wake(false)
    await vi.waitFor(() => expect(waits).toEqual([0.2, 3600]), { timeout: 10_000 })
    abort()
    wake(true)
    await call
    expect(lines).toEqual(['ping 1', 'stopped by resource-deleted'])
  })

  test('errors of a worker function that is called directly are of the classes of the package', async () => {
    const failure = await failureOf('permanent')
    expect(failure).toBeInstanceOf(PermanentError)
    expect(failure).toMatchObject({ name: 'PermanentError', code: 'KOPF_PERMANENT', message: 'never' })
  })
})

describe('dying threads', () => {
  test.each([
    ['die', 'its worker thread has died: it exited with the code 3'],
    ['rejectLater', 'its worker thread has died: left alone'],
  ])('a thread that dies fails its call, which is retried in another thread: %s', async (name, why) => {
    const { status } = await handle(name, {})
    expect(status[name]).toBe('alive')
    expect(lab.logs.join('\n')).toContain(`Cannot finish "${name}" of "handlers.ts": ${why}`)
  })
})

describe('number of threads', () => {
  test('there are at most maxWorkers threads, and other calls wait', async () => {
    const memory = shareMemory()
    const kopf = operatorWith(2)
    kopf.on.create(lab.widgets, { param: memory }, heavy(handlers, { name: 'block' }))
    await lab.start(kopf)
    const names = ['one', 'two', 'three', 'four']
    for (const name of names) await lab.create(name, { spec: {} })
    await untilStarted(memory, 2)
    expect(threads.size).toBe(2)
    release(memory)
    for (const name of names) await untilHandled(lab, name)
    expect(startedIn(memory)).toBe(4)
    expect(threads.size).toBe(2)
  })
})

describe('stop of the operator', () => {
  test('a stop aborts the signals of worker calls, even of those that block their thread', async () => {
    const memory = shareMemory()
    const kopf = operatorWith()
    const fn = inWorker(handlers, { name: 'untilAborted' })
    kopf.on.create(lab.widgets, { param: memory, id: 'fn' }, (args) => {
      const call = fn(args)
      args.signal.addEventListener('abort', () => void lab.outside(call))
      return call
    })
    const running = await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await untilStarted(memory, 1)
    await lab.stop(running)
    expect(lab.logs).toContain(`[${lab.namespace}/one] told to end: The operator is stopping`)
    expect(lab.logs).toContain(`[${lab.namespace}/one] Handler 'fn' succeeded.`)
  })

  test('a stop terminates threads that still block, and worker cleanup handlers run', async () => {
    const memory = shareMemory()
    const kopf = operatorWith(1)
    kopf.on.create(lab.widgets, { param: memory }, inWorker(handlers, { name: 'block' }))
    kopf.on.cleanup({ id: 'tidy' }, heavy(background, { name: 'prepare' }))
    const running = await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await untilStarted(memory, 1)
    await lab.stop(running)
    expect(threads.size).toBe(0)
    expect(lab.logs.join('\n')).toContain('prepared undefined at attempt 0')
    expect(lab.logs.join('\n')).toContain('Worker threads that were still busy were terminated: 1.')
  })

  test('worker calls that wait for a thread do not count as attempts when the operator stops', async () => {
    const memory = shareMemory()
    const options = { param: memory, retries: 1 }
    const first = operatorWith(1)
    first.on.create(lab.widgets, options, inWorker(handlers, { name: 'block' }))
    const running = await lab.start(first)
    for (const name of ['one', 'two']) await lab.create(name, { spec: {} })
    await untilStarted(memory, 1)
    await lab.until(() => lab.logs.filter((line) => line.includes('is invoked')).length === 2)
    await lab.stop(running)
    expect(lab.logs.filter((line) => line.includes('failed'))).toEqual([])
    expect(startedIn(memory)).toBe(1)

    release(memory)
    const second = operatorWith(1)
    second.on.create(lab.widgets, options, heavy(handlers, { name: 'block' }))
    await lab.start(second)
    for (const name of ['one', 'two']) expect((await untilHandled(lab, name))['status']).toEqual({ block: 'released' })
  })
})

describe('other handler types in workers', () => {
  test('a worker daemon that blocks its thread sees stopped, and the object as of its call', async () => {
    const memory = shareMemory()
    const kopf = operatorWith()
    kopf.daemon(lab.widgets, { param: memory }, heavy(background, { name: 'watch' }))
    await lab.start(kopf)
    await lab.create('one', { spec: { size: 7 } })
    await untilStarted(memory, 1)
    await lab.delete('one')
    await lab.untilGone('one')
    await lab.untilLogged('watching 7')
    await lab.untilLogged('stopped by resource-deleted, true')
  })

  test('a worker daemon that waits for a thread does not hold the deletion of its object', async () => {
    const memory = shareMemory()
    const kopf = operatorWith(1)
    kopf.daemon(lab.widgets, { param: memory }, inWorker(background, { name: 'watch' }))
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await untilStarted(memory, 1)
    await lab.create('two', { spec: {} })
    await lab.untilLogged("/two] Daemon 'watch' is invoked")
    await lab.delete('two')
    await lab.untilGone('two')
    await lab.outside(lab.delete('one'))
    await lab.outside(vi.waitFor(() => expect(lab.logs.join('\n')).toContain('stopped by resource-deleted')))
    expect(startedIn(memory)).toBe(1)
    expect(lab.logs.filter((line) => line.includes('failed'))).toEqual([])
    await lab.untilGone('one')
  })

  // In process, the clock of the tests would be hours ahead before the thread has reported that it waits.
  test.skipIf(!lab.isReal)('a worker daemon frees its thread while it waits', async () => {
    const kopf = operatorWith()
    kopf.daemon(lab.widgets, inWorker(background, { name: 'ping' }))
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.untilLogged('ping 1')
    await lab.delete('one')
    await lab.untilGone('one')
    await lab.untilLogged('stopped by resource-deleted')
  })

  test('a timer can run in a worker', async () => {
    const kopf = operatorWith()
    kopf.timer(lab.widgets, { interval: 0.2 }, heavy(background, { name: 'tick' }))
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.untilObject('one', ({ status }) => status?.['ticks'] >= 3)
  })

  test('an event handler can run in a worker', async () => {
    const kopf = operatorWith()
    kopf.on.event(lab.widgets, heavy(background, { name: 'seen' }))
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.untilObject('one', ({ status }) => status?.['seen'] === 'yes')
  })

  test('a startup handler can run in a worker', async () => {
    const kopf = new Operator({ memo: () => ({ what: 'everything' }) })
    kopf.on.startup(heavy(background, { name: 'prepare' }))
    kopf.on.create(lab.widgets, () => {})
    await lab.start(kopf)
    expect(lab.logs.join('\n')).toContain('prepared everything at attempt 0')
  })
})
