/** Standing back for another operator: what stops, what goes on, and what is made up for afterwards. */
import { Operator, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { addressIn, ask } from '../activities/support.ts'
import { Door } from '../admission/support.ts'
import { finalizer, progressOf, settle, untilHandled } from '../support/handled.ts'
import { Notebook } from '../support/notebook.ts'
import { gate } from '../support/recording.ts'
import { usePeeringLab } from './support.ts'

const peering = usePeeringLab('kopf.dev')
const { lab } = peering

function createOperator(): Operator {
  return new Operator({ settings: { peering: { name: peering.name } } })
}

const stronger = { priority: 100, lifetime: 3600 }

async function pause(): Promise<void> {
  await peering.sign('them', stronger)
  await peering.untilPaused()
}

async function resume(): Promise<void> {
  await peering.sign('them', null)
  await peering.untilResumed()
}

test('while paused, nothing is listed or watched, and nobody is called', async () => {
  await peering.create()
  const kopf = createOperator()
  const called: string[] = []
  kopf.on.event(lab.widgets, ({ name }) => void called.push(`event ${name}`))
  kopf.on.create(lab.widgets, ({ name }) => void called.push(`create ${name}`))
  await lab.create('before', { spec: {} })
  const recording = lab.record()
  await lab.start(kopf, { identity: 'me', transport: recording })
  await untilHandled(lab, 'before')
  await pause()
  called.length = 0
  recording.requests.length = 0
  await lab.create('meanwhile', { spec: {} })
  await lab.patch('before', { spec: { size: 2 } })
  await settle(lab)
  expect(called).toEqual([])
  expect(recording.requests.filter(({ path }) => path.includes('widgets'))).toEqual([])
  await resume()
  await untilHandled(lab, 'meanwhile')
  expect(called).toContain('create meanwhile')
})

test('one that starts paused opens no stream at all, and is ready', async () => {
  await peering.create()
  await peering.sign('them', stronger)
  const kopf = createOperator()
  const called: string[] = []
  kopf.on.create(lab.widgets, ({ name }) => void called.push(name))
  await lab.create('one', { spec: {} })
  const recording = lab.record()
  await lab.start(kopf, { identity: 'me', transport: recording })
  await settle(lab)
  expect(recording.requests.filter(({ path }) => path.includes('widgets'))).toEqual([])
  await resume()
  await untilHandled(lab, 'one')
  expect(called).toEqual(['one'])
})

test('what an observer was told of is let go when it is paused, and found again when it goes on', async () => {
  await peering.create()
  const kopf = new Operator({ settings: { peering: { name: peering.name }, queueing: { workerLimit: 1 } } })
  const door = gate()
  kopf.on.create(lab.widgets, () => door.opened)
  for (const name of ['one', 'two', 'three']) await lab.create(name, { spec: {} })
  const notebook = new Notebook()
  await lab.start(kopf, { identity: 'me', observer: notebook.observer })
  await lab.until(() => notebook.found === 3)
  await pause()
  await lab.until(() => notebook.isSettled)
  expect(notebook.outcomes).toEqual({ left: 3 })
  door.open()
  await resume()
  await lab.until(() => notebook.found === 6 && notebook.isSettled)
  expect(notebook.outcomes).toMatchObject({ left: 3, created: expect.any(Number) })
})

test('what is deleted during the pause is noticed after it', async () => {
  await peering.create()
  const kopf = createOperator()
  const events: Array<string | null> = []
  kopf.on.event(lab.widgets, ({ event, name }) => void events.push(`${event.type} ${name}`))
  await lab.create('one', { spec: {} })
  await lab.start(kopf, { identity: 'me' })
  await lab.until(() => events.length === 1)
  await pause()
  await lab.delete('one')
  await settle(lab)
  expect(events).toEqual(['null one'])
  await resume()
  await lab.until(() => events.length === 2)
  expect(events).toEqual(['null one', 'DELETED one'])
})

test('afterwards nothing is handled twice, and nobody is resumed again', async () => {
  await peering.create()
  const kopf = createOperator()
  const called: string[] = []
  kopf.on.resume(lab.widgets, { id: 'resume' }, ({ name }) => void called.push(`resume ${name}`))
  kopf.on.create(lab.widgets, { id: 'create' }, ({ name }) => void called.push(`create ${name}`))
  kopf.on.update(lab.widgets, { id: 'update' }, ({ name }) => void called.push(`update ${name}`))
  await lab.create('same', { spec: {} })
  await lab.create('changed', { spec: {} })
  await lab.start(kopf, { identity: 'me' })
  await untilHandled(lab, 'same')
  await untilHandled(lab, 'changed')
  await pause()
  called.length = 0
  const { metadata } = await lab.get('same')
  await lab.patch('changed', { spec: { size: 2 } })
  await resume()
  await lab.until(() => called.length > 0)
  await untilHandled(lab, 'changed')
  await settle(lab)
  expect(called).toEqual(['update changed'])
  expect((await lab.get('same')).metadata.resourceVersion).toBe(metadata.resourceVersion)
})

test('a handler that runs when the pause begins comes to its end, and what came of it is written', async () => {
  await peering.create()
  const kopf = createOperator()
  const [begun, ending] = [gate(), gate()]
  kopf.on.create(lab.widgets, { id: 'slow' }, async () => {
    begun.open()
    await ending.opened
    return { done: true }
  })
  await lab.start(kopf, { identity: 'me' })
  await lab.create('one', { spec: {} })
  await begun.opened
  await pause()
  ending.open()
  const { status } = await untilHandled(lab, 'one')
  expect(status).toEqual({ slow: { done: true } })
})

test('a handler whose turn would come next is left to others, who find what was done before it', async () => {
  await peering.create()
  const kopf = createOperator()
  const [begun, ending] = [gate(), gate()]
  let calls = 0
  kopf.on.create(lab.widgets, { id: 'first' }, async () => {
    begun.open()
    await ending.opened
  })
  kopf.on.create(lab.widgets, { id: 'second' }, () => {
    calls += 1
  })
  await lab.start(kopf, { identity: 'me' })
  await lab.create('one', { spec: {} })
  await begun.opened
  await pause()
  ending.open()
  const body = await lab.untilObject('one', (one) => progressOf(one, 'first') !== undefined)
  expect(progressOf(body, 'first')).toMatchObject({ success: true })
  expect(progressOf(body, 'second')).toMatchObject({ success: false, retries: 0 })
  await settle(lab)
  expect(calls).toBe(0)
  await resume()
  await untilHandled(lab, 'one')
  expect(calls).toBe(1)
})

test('a retry that falls due during the pause waits until after it', async () => {
  await peering.create()
  const kopf = createOperator()
  const retries: number[] = []
  kopf.on.create(lab.widgets, ({ retry }) => {
    retries.push(retry)
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.2 })
  })
  await lab.start(kopf, { identity: 'me' })
  await lab.create('one', { spec: {} })
  await lab.until(() => retries.length === 1)
  await pause()
  retries.splice(1)
  await settle(lab)
  expect(retries).toEqual([0])
  await resume()
  await untilHandled(lab, 'one')
  expect(retries).toEqual([0, 1])
})

test('what another has finished during the pause is not tried again after it', async () => {
  await peering.create()
  const kopf = createOperator()
  let calls = 0
  kopf.on.create(lab.widgets, { id: 'make' }, () => {
    calls += 1
    throw new TemporaryError('not yet', { delay: lab.isReal ? 2 : 600 })
  })
  await lab.start(kopf, { identity: 'me' })
  await lab.create('one', { spec: {} })
  const { metadata } = await lab.untilObject(
    'one',
    ({ metadata }) => metadata.annotations?.['kopf.zalando.org/make'] !== undefined,
  )
  await pause()
  const handled = JSON.stringify({ spec: {} })
  const annotations = { 'kopf.zalando.org/make': null, 'kopf.zalando.org/last-handled-configuration': handled }
  expect(metadata.annotations?.['kopf.zalando.org/make']).toContain('"success":false')
  await lab.patch('one', { metadata: { annotations } })
  await resume()
  await lab.elapse(lab.isReal ? 3 : 3000)
  expect(calls).toBe(1)
})

test('what another has finished is no attempt of ours when there is more to do', async () => {
  await peering.create()
  const kopf = createOperator()
  const calls: string[] = []
  const make = ({ retry, reason }: { retry: number; reason: string }) => {
    calls.push(`${reason} ${retry}`)
    if (reason === 'create') throw new TemporaryError('not yet', { delay: 600 })
  }
  kopf.on.create(lab.widgets, { id: 'make' }, make)
  kopf.on.update(lab.widgets, { id: 'make' }, make)
  await lab.start(kopf, { identity: 'me' })
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', ({ metadata }) => metadata.annotations?.['kopf.zalando.org/make'] !== undefined)
  await pause()
  const handled = JSON.stringify({ spec: {} })
  const annotations = { 'kopf.zalando.org/make': null, 'kopf.zalando.org/last-handled-configuration': handled }
  await lab.patch('one', { spec: { size: 2 }, metadata: { annotations } })
  await resume()
  await lab.until(() => calls.length === 2)
  expect(calls).toEqual(['create 0', 'update 0'])
})

test('what waits for a worker when the pause begins is left until after it', async () => {
  await peering.create()
  const kopf = createOperator()
  kopf.settings.queueing.workerLimit = 1
  kopf.settings.queueing.slowAfter = null
  const ending = gate()
  const called: string[] = []
  kopf.on.create(lab.widgets, async ({ name }) => {
    called.push(name)
    await ending.opened
  })
  await lab.start(kopf, { identity: 'me' })
  await lab.create('first', { spec: {} })
  await lab.until(() => called.length === 1)
  await lab.create('second', { spec: {} })
  await settle(lab)
  await pause()
  ending.open()
  await untilHandled(lab, 'first')
  await settle(lab)
  expect(called).toEqual(['first'])
  await resume()
  await untilHandled(lab, 'second')
  expect(called).toEqual(['first', 'second'])
})

test('a handling that is only half way when the pause begins is gone on with after it', async () => {
  await peering.create()
  const kopf = createOperator()
  let calls = 0
  kopf.on.create(lab.widgets, () => {
    calls += 1
  })
  // Somebody has to be there at the end, so the finalizer goes on first.
  kopf.on.delete(lab.widgets, () => {})
  const recording = lab.record()
  let isFirst = true
  recording.meddle = async ({ method, path }, send) => {
    if (method === 'PATCH' && path.includes('/widgets/') && isFirst) {
      isFirst = false
      await pause()
    }
    return send()
  }
  await lab.start(kopf, { identity: 'me', transport: recording })
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', ({ metadata }) => metadata.finalizers !== undefined)
  await settle(lab)
  expect(calls).toBe(0)
  await resume()
  await untilHandled(lab, 'one')
  expect(calls).toBe(1)
})

describe('beside the objects', () => {
  test('timers do not tick while paused, and do again afterwards', async () => {
    await peering.create()
    const kopf = createOperator()
    let ticks = 0
    kopf.timer(lab.widgets, { interval: 0.2 }, () => {
      ticks += 1
    })
    await lab.create('one', { spec: {} })
    await lab.start(kopf, { identity: 'me' })
    await lab.until(() => ticks >= 2)
    await pause()
    const before = ticks
    await lab.elapse(lab.isReal ? 1 : 100)
    expect(ticks).toBe(before)
    await resume()
    await lab.until(() => ticks >= before + 2)
  })

  test('daemons are told why, ended, and started again; but not one that has ended by itself', async () => {
    await peering.create()
    const kopf = createOperator()
    const seen: string[] = []
    kopf.daemon(lab.widgets, { id: 'beside' }, async ({ stopped }) => {
      seen.push('starts')
      await stopped.wait()
      seen.push(`stops: ${stopped.reason}`)
    })
    kopf.daemon(lab.widgets, { id: 'once' }, () => void seen.push('once'))
    await lab.create('one', { spec: {} })
    await lab.start(kopf, { identity: 'me' })
    await lab.until(() => seen.length === 2)
    await pause()
    await lab.until(() => seen.length === 3)
    await settle(lab)
    expect(seen.toSorted()).toEqual(['once', 'starts', 'stops: operator-pausing'])
    expect((await lab.get('one')).metadata.finalizers).toEqual([finalizer])
    await resume()
    await lab.until(() => seen.length === 4)
    await settle(lab)
    expect(seen.slice(3)).toEqual(['starts'])
  })

  test('a daemon that takes its time to end is not started beside itself', async () => {
    await peering.create()
    const kopf = createOperator()
    const ending = gate()
    let [running, most, starts] = [0, 0, 0]
    kopf.daemon(lab.widgets, async ({ stopped }) => {
      starts += 1
      running += 1
      most = Math.max(most, running)
      await stopped.wait()
      if (starts === 1) await ending.opened
      running -= 1
    })
    await lab.create('one', { spec: {} })
    await lab.start(kopf, { identity: 'me' })
    await lab.until(() => starts === 1)
    await pause()
    await resume()
    await settle(lab)
    expect(starts).toBe(1)
    ending.open()
    await lab.until(() => starts === 2)
    expect(most).toBe(1)
  })

  test('no daemon is started by what came before the pause and is finished in it', async () => {
    await peering.create()
    const kopf = createOperator()
    const ending = gate()
    let [starts, isLooking, hasLooked] = [0, false, false]
    kopf.on.event(lab.widgets, async () => {
      isLooking = true
      await ending.opened
      hasLooked = true
    })
    kopf.daemon(lab.widgets, async ({ stopped }) => {
      starts += 1
      await stopped.wait()
    })
    await lab.start(kopf, { identity: 'me' })
    await lab.create('one', { metadata: { finalizers: [finalizer] } })
    await lab.until(() => isLooking)
    await pause()
    ending.open()
    await lab.until(() => hasLooked)
    await settle(lab)
    expect(starts).toBe(0)
    await resume()
    await lab.until(() => starts === 1)
  })

  test('an index stays as it was, and is complete again when handlers are called after the pause', async () => {
    await peering.create()
    const kopf = createOperator()
    const names = kopf.index(lab.widgets, ({ name }) => [['all', name]] as const)
    const found: string[][] = []
    kopf.on.create(lab.widgets, () => void found.push([...names.get('all')].sort()))
    await lab.create('one', { spec: {} })
    await lab.start(kopf, { identity: 'me' })
    await untilHandled(lab, 'one')
    await pause()
    await lab.create('two', { spec: {} })
    await lab.delete('one')
    await settle(lab)
    expect([...names.get('all')]).toEqual(['one'])
    await resume()
    await untilHandled(lab, 'two')
    await lab.until(() => names.get('all').length === 1)
    expect([...names.get('all')]).toEqual(['two'])
  })

  test('it says that it is paused when it is asked, that it is ready, and gives its streams time to come back', async () => {
    await peering.create()
    await peering.sign('them', stronger)
    const kopf = createOperator()
    kopf.on.event(lab.widgets, () => {})
    const recording = lab.record()
    const late = gate()
    recording.meddle = async ({ path }, send) => {
      if (path.endsWith('/widgets')) await late.opened
      return send()
    }
    const options = { identity: 'me', transport: recording, livenessEndpoint: 'http://127.0.0.1:0/healthz' }
    await lab.start(kopf, options)
    const address = addressIn(lab.logs)
    const readiness = async () => (await ask(address, '/readyz')).body
    const isSaying = (state: object) => ({ ready: true, checks: { streams: { ok: true, ...state } } })
    await lab.elapse(lab.isReal ? 0.1 : 300)
    expect(await readiness()).toMatchObject(isSaying({ state: 'paused', watching: 0, down: [] }))
    await resume()
    expect(await readiness()).toMatchObject(isSaying({ state: 'watching', watching: 0 }))
    late.open()
    await lab.until(
      async () => ((await readiness()) as { checks: { streams: { watching: number } } }).checks.streams.watching === 1,
    )
  })

  test('requests to webhooks are answered all the same, also before the indices could be filled', async () => {
    await peering.create()
    await peering.sign('them', stronger)
    const kopf = createOperator()
    const names = kopf.index(lab.widgets, ({ name }) => [['all', name]] as const)
    kopf.on.validate(
      lab.widgets,
      { id: 'check' },
      ({ warnings }) => void warnings.push(`of ${names.get('all').length}`),
    )
    const door = new Door(lab, kopf)
    await lab.create('one', { spec: {} })
    await lab.start(kopf, { identity: 'me' })
    expect(await door.ask()).toMatchObject({ allowed: true, warnings: ['of 0'] })
    await resume()
    await lab.until(() => names.get('all').length === 1)
    expect(await door.ask()).toMatchObject({ allowed: true, warnings: ['of 1'] })
  })

  test('it can be stopped while it is paused', async () => {
    await peering.create()
    const kopf = createOperator()
    kopf.on.event(lab.widgets, () => {})
    const running = await lab.start(kopf, { identity: 'me' })
    await pause()
    await lab.stop(running)
    expect(Object.keys(await peering.records())).toEqual(['them'])
  })
})
