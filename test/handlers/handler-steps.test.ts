import { Operator, PermanentError, StatusProgressStorage, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { isHandled, recordsOf, useCleanLab } from '../support/handled.ts'
import { refusal } from '../support/recording.ts'

const lab = useCleanLab()

test('a step is executed once, and a retry of its handler gets its stored result', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'backups' }, async ({ name, retry, step }) => {
    const bucket = await step('bucket', () => {
      calls.push('bucket')
      return { name: `of-${name}`, tags: ['a', null] }
    })
    calls.push(`attempt ${retry} with ${JSON.stringify(bucket)}`)
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.3 })
    await step('schedule', async () => void calls.push('schedule'))
  })
  await lab.start(kopf)
  await lab.create('once')
  const half = await lab.untilObject('once', (body) => 'backups' in recordsOf(body))
  const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/)
  expect(recordsOf(half)).toMatchObject({
    backups: { purpose: 'create', retries: 1, success: false, subrefs: ['backups/bucket'] },
    'backups.bucket': {
      started: timestamp,
      stopped: timestamp,
      purpose: 'create',
      retries: 1,
      success: true,
      failure: false,
      result: '{"name":"of-once","tags":["a",null]}',
      signature: expect.stringMatching(/^v1\.[0-9a-f]{16}\.[\w-]{43}$/),
    },
  })
  const whole = await lab.untilObject('once', isHandled)
  const seen = '{"name":"of-once","tags":["a",null]}'
  expect(calls).toEqual(['bucket', `attempt 0 with ${seen}`, `attempt 1 with ${seen}`, 'schedule'])
  expect(recordsOf(whole)).toEqual({})
})

test('a step result survives a restart, even if it is undefined', async () => {
  const calls: string[] = []
  const operator = (isReady: boolean): Operator => {
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'fn' }, async ({ step }) => {
      const nothing = await step('nothing', () => void calls.push('nothing'))
      const number = await step('number', () => calls.push('number'))
      calls.push(`${String(nothing)} ${number}`)
      if (!isReady) throw new TemporaryError('not yet', { delay: 0.3 })
    })
    return kopf
  }
  const first = await lab.start(operator(false))
  await lab.create('restarted')
  await lab.untilObject(
    'restarted',
    (body) => 'retries' in (recordsOf(body)['fn'] ?? {}) && 'fn.number' in recordsOf(body),
  )
  await lab.until(() => calls.length >= 3)
  await lab.stop(first)
  calls.length = 0
  await lab.start(operator(true))
  await lab.untilObject('restarted', isHandled)
  expect(calls).toEqual(['undefined 2'])
})

test('a step result is written before the next step begins, and the last one causes no write', async () => {
  const kopf = new Operator()
  const transport = lab.record()
  const written: number[] = []
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ step }) => {
    for (const id of ['a', 'b', 'c']) await step(id, () => void written.push(transport.writes('/counted').length))
  })
  await lab.start(kopf, { transport })
  await lab.create('counted')
  await lab.untilObject('counted', isHandled)
  expect(written).toEqual([0, 1, 2])
  expect(transport.writes('/counted')).toHaveLength(3)
  expect(transport.requests.filter(({ method, path }) => method === 'GET' && path.endsWith('/counted'))).toEqual([])
})

test('a single step causes no additional write', async () => {
  const kopf = new Operator()
  const transport = lab.record()
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ step }) => step('only', () => 'done'))
  await lab.start(kopf, { transport })
  await lab.create('alone')
  const { status } = await lab.untilObject('alone', isHandled)
  expect(status).toEqual({ fn: 'done' })
  expect(transport.writes('/alone')).toHaveLength(2)
})

test('the result of the last step is written while its handler keeps running', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ step }) => {
    await step('only', () => 'done')
    await lab.clock.sleep(3000)
  })
  await lab.start(kopf)
  await lab.create('long')
  const body = await lab.untilObject('long', (one) => 'fn.only' in recordsOf(one))
  expect(recordsOf(body)['fn']).toMatchObject({ retries: 0, success: false, subrefs: ['fn/only'] })
  expect(recordsOf(await lab.untilObject('long', isHandled))).toEqual({})
})

test('steps can run concurrently', async () => {
  const kopf = new Operator()
  const transport = lab.record()
  let most = 0
  let now = 0
  const work = async (): Promise<string> => {
    now += 1
    most = Math.max(most, now)
    await lab.clock.sleep(100)
    now -= 1
    return 'done'
  }
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ step }) => {
    return Promise.all(['a', 'b', 'c'].map((id) => step(id, work)))
  })
  await lab.start(kopf, { transport })
  await lab.create('parallel')
  const { status } = await lab.untilObject('parallel', isHandled)
  expect(status).toEqual({ fn: ['done', 'done', 'done'] })
  expect(most).toBe(3)
  expect(transport.writes('/parallel')).toHaveLength(2)
})

test('a failed step does not cancel concurrent steps, and these are not executed again', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ retry, step }) => {
    calls.push(`fn${retry}`)
    await Promise.all([
      step('bad', () => {
        if (retry === 0) throw new TemporaryError('not yet', { delay: 0.3 })
        calls.push('bad')
      }),
      step('slow', async () => {
        await lab.clock.sleep(200)
        calls.push('slow')
      }),
    ])
  })
  await lab.start(kopf)
  await lab.create('one-fails')
  await lab.untilObject('one-fails', isHandled)
  expect(calls).toEqual(['fn0', 'slow', 'fn1', 'bad'])
})

test('a step that is not awaited is still part of its handler', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ retry, step }) => {
    void step('careless', async () => {
      await lab.clock.sleep(100)
      calls.push(`careless${retry}`)
      if (retry === 0) throw new TemporaryError('not yet', { delay: 0.3 })
    })
  })
  await lab.start(kopf)
  await lab.create('careless')
  await lab.untilObject('careless', isHandled)
  expect(calls).toEqual(['careless0', 'careless1'])
})

test('an error of a step is an error of its handler', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn', backoff: 0.2 }, async ({ retry, step }) => {
    await step('failing', () => {
      if (retry === 0) throw new Error('something')
      if (retry === 1) throw new TemporaryError('not yet', { delay: 0.2 })
      throw new PermanentError('never')
    })
  })
  await lab.start(kopf)
  await lab.create('failing')
  const body = await lab.untilObject('failing', isHandled)
  expect(lab.logs.some((line) => line.includes("Handler 'fn' failed permanently: never"))).toBe(true)
  expect(recordsOf(body)).toEqual({})
})

test('a step id that is used twice in one call is refused, also if the other is a sub-handler', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'twice', errors: 'permanent' }, async ({ step }) => {
    await step('a', () => void calls.push('a'))
    await step('a', () => void calls.push('again'))
  })
  kopf.on.create(lab.widgets, { id: 'shared', errors: 'permanent' }, async ({ step, subhandler }) => {
    await step('b', () => void calls.push('b'))
    subhandler('b', () => void calls.push('again'))
  })
  kopf.on.create(lab.widgets, { id: 'taken', errors: 'permanent' }, async ({ step, subhandler }) => {
    subhandler('c', () => {})
    await step('c', () => void calls.push('again'))
  })
  await lab.start(kopf)
  await lab.create('twice')
  await lab.untilObject('twice', isHandled)
  expect(calls).toEqual(['a', 'b'])
  const refusals = lab.logs.filter((line) => line.includes('Cannot run step') || line.includes('second sub-handler'))
  expect(refusals.join('\n')).toMatch(
    /step "a" of handler "twice".*another id[\s\S]*"shared\/b"[\s\S]*step "c" of handler "taken"/,
  )
})

test.each([
  ['with slashes/and.dots', 'with slashes.and/dots'],
  ['ümläut', 'umlaut'],
  ['💥', '-'],
  [' ', '.'],
  ['x'.repeat(300), 'x'.repeat(301)],
])('step ids can be any text, and different ids do not collide: %j', async (one, other) => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ retry, step }) => {
    const results = [await step(one, () => calls.push('one')), await step(other, () => calls.push('other'))]
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.1 })
    return { results }
  })
  await lab.start(kopf)
  const { metadata } = await lab.create(`ids-${Buffer.from(one).toString('hex').slice(0, 20)}`)
  const body = await lab.untilObject(metadata.name!, isHandled)
  expect(body['status']).toEqual({ fn: { results: [1, 2] } })
  expect(recordsOf(body)).toEqual({})
})

test('sub-handlers have their own steps, whose records their ancestors list', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'p' }, async ({ step, subhandler }) => {
    await step('own', () => void calls.push('own'))
    for (const id of ['x', 'y']) {
      subhandler(id, async ({ retry, step }) => {
        await step('inner', () => void calls.push(`${id}.inner`))
        if (retry === 0) throw new TemporaryError('not yet', { delay: 0.3 })
      })
    }
  })
  await lab.start(kopf)
  await lab.create('nested')
  const half = await lab.untilObject('nested', (body) => 'subrefs' in (recordsOf(body)['p.y'] ?? {}))
  expect(recordsOf(half)['p']).toMatchObject({ subrefs: ['p/own', 'p/x', 'p/x/inner', 'p/y', 'p/y/inner'] })
  expect(recordsOf(await lab.untilObject('nested', isHandled))).toEqual({})
  expect(calls).toEqual(['own', 'x.inner', 'y.inner'])
})

test('the steps of a finished handler are removed while other handlers are retried', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'quick' }, async ({ step }) => {
    await step('a', () => {})
    await step('b', () => {})
  })
  kopf.on.create(lab.widgets, { id: 'flaky' }, ({ retry }) => {
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.3 })
  })
  await lab.start(kopf)
  await lab.create('others')
  const half = await lab.untilObject('others', (body) => recordsOf(body)['flaky']?.['retries'] === 1)
  expect(Object.keys(recordsOf(half)).sort()).toEqual(['flaky', 'quick'])
  expect(recordsOf(half)['quick']).not.toHaveProperty('subrefs')
})

test('the steps of a creation do not count for the deletion, in one function or two', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const fn = async ({ reason, step }: { reason: string; step: (id: string, fn: () => void) => Promise<void> }) => {
    await step('call', () => void calls.push(reason))
    await step('wait', () => {
      if (reason === 'create') throw new TemporaryError('not yet', { delay: 0.5 })
    })
  }
  kopf.on.create(lab.widgets, { id: 'fn' }, fn)
  kopf.on.delete(lab.widgets, { id: 'fn' }, fn)
  await lab.start(kopf)
  await lab.create('reasons')
  await lab.untilObject('reasons', (body) => 'fn.call' in recordsOf(body))
  await lab.delete('reasons')
  await lab.untilGone('reasons')
  expect(calls).toEqual(['create', 'delete'])
})

test('step results that the object does not keep are remembered until the operator restarts', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const transport = lab.record()
  transport.meddle = (request, send) => {
    const annotations = (request.body?.['metadata'] as { annotations?: Record<string, unknown> })?.annotations ?? {}
    if (!('kopf.zalando.org/fn.a' in annotations)) return send()
    const { 'kopf.zalando.org/fn.a': _, 'kopf.zalando.org/fn': __, ...kept } = annotations
    return send(
      JSON.stringify({ ...request.body, metadata: { ...(request.body!['metadata'] as object), annotations: kept } }),
    )
  }
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ retry, step }) => {
    await step('a', () => void calls.push('a'))
    await step('b', () => void calls.push('b'))
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.3 })
  })
  await lab.start(kopf, { transport })
  await lab.create('forgetful')
  await lab.untilObject('forgetful', isHandled)
  expect(calls).toEqual(['a', 'b'])
})

test('a step does not begin before the result of the previous one was written', async () => {
  const calls: string[] = []
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [] } } })
  const transport = lab.record()
  let refusals = 1
  transport.meddle = (request, send) => {
    if (request.method !== 'PATCH' || refusals === 0) return send()
    refusals -= 1
    return Promise.resolve(refusal(500))
  }
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ retry, step }) => {
    calls.push(`fn${retry}`)
    await step('a', () => void calls.push('a'))
    await step('b', () => void calls.push('b'))
  })
  await lab.start(kopf, { transport })
  await lab.create('refused')
  await lab.untilObject('refused', isHandled)
  expect(calls).toEqual(['fn0', 'a', 'fn1', 'b'])
})

test('a step does not begin if the object was deleted', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ name, step }) => {
    await step('a', async () => {
      calls.push('a')
      await lab.delete(name)
    })
    await step('b', () => void calls.push('b'))
  })
  await lab.start(kopf)
  await lab.create('vanishing')
  await lab.untilGone('vanishing')
  await lab.untilLogged('the object is gone')
  expect(calls).toEqual(['a'])
})

test('step results can be stored in the status', async () => {
  const calls: string[] = []
  const kopf = new Operator({ settings: { persistence: { progressStorage: new StatusProgressStorage() } } })
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ retry, step }) => {
    const found = await step('a', () => {
      calls.push('a')
      return { gone: null, kept: retry }
    })
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.3 })
    return found
  })
  await lab.start(kopf)
  await lab.create('in-status')
  const { status } = await lab.untilObject('in-status', isHandled)
  expect(calls).toEqual(['a'])
  expect(status['fn']).toEqual({ kept: 0 })
  expect(status['kopf']?.progress ?? {}).toEqual({})
})

test.each<[string, unknown, RegExp]>([
  ['not JSON', () => {}, /JSON cannot hold a function; return plain data/],
  ['too large', 'x'.repeat(40_000), /40002 characters/],
  ['a secret by its name', { db: { password: 'hunter22' } }, /"db\.password" looks like a secret, by its name/],
  [
    'a token by its form',
    { note: `eyJhbGciOiJIUzI1NiJ9.${'a'.repeat(20)}.${'b'.repeat(20)}` },
    /"note" looks like a token/,
  ],
  ['a Secret', { kind: 'Secret', data: { x: 'aHVudGVyMjI=' } }, /it is a Secret with its data/],
])('a step result is refused permanently: %s', async (what, result, message) => {
  let calls = 0
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ step }) => {
    await step('bad', () => {
      calls += 1
      return result as string
    })
  })
  await lab.start(kopf)
  const name = what.toLowerCase().replaceAll(' ', '-')
  await lab.create(name)
  const body = await lab.untilObject(name, isHandled)
  const line = lab.logs.find((one) => one.includes('failed permanently')) ?? ''
  expect(line).toMatch(message)
  expect(`${line} ${JSON.stringify(body)}`).not.toMatch(/hunter22|aHVudGVyMjI|bbbbbbbb|xxxxxxxx/)
  expect(calls).toBe(1)
})
