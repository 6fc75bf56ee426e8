/** A pause for another operator: the activities that stop, the activities that continue, and the recovery after it. */
import { Operator, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { addressIn, ask } from '../activities/activity-support.ts'
import { Door } from '../admission/admission-support.ts'
import { finalizer, progressOf, settle, untilHandled } from '../support/handled.ts'
import { gate } from '../support/recording.ts'
import { RecordingObserver } from '../support/recording-observer.ts'
import { usePeeringLab } from './peering-lab.ts'

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

test('a paused operator lists and watches nothing and calls no handlers', async () => {
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

test('an operator that starts paused opens no streams and is ready', async () => {
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

test('an observer sees objects leave when the operator is paused and return when it continues', async () => {
  await peering.create()
  const kopf = new Operator({ settings: { peering: { name: peering.name }, queueing: { workerLimit: 1 } } })
  const door = gate()
  kopf.on.create(lab.widgets, () => door.opened)
  for (const name of ['one', 'two', 'three']) await lab.create(name, { spec: {} })
  const notebook = new RecordingObserver()
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

test('an object that is deleted during a pause is noticed after it', async () => {
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

test('an operator that continues after a pause handles nothing twice and resumes no object again', async () => {
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

test('a handler that runs when a pause starts is finished, and its result is written', async () => {
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

test('a handler that would be next when a pause starts is left to the other operator, with the stored progress', async () => {
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

test('a retry that is due during a pause waits until after it', async () => {
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

test('a handling that another operator finished during a pause is not retried after it', async () => {
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

test('a handling that another operator finished does not count as an attempt of the next handling', async () => {
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

test('an object that waits for a worker when a pause starts waits until after it', async () => {
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

test('a handling that is interrupted by a pause continues after it', async () => {
  await peering.create()
  const kopf = createOperator()
  let calls = 0
  kopf.on.create(lab.widgets, () => {
    calls += 1
  })
  // A deletion handler needs the finalizer, which is the first patch.
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

describe('paused features', () => {
  test('timers do not run during a pause, and run again after it', async () => {
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

  test('daemons are stopped with the reason for a pause and restarted after it, except those that had finished', async () => {
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

  test('a daemon that is slow to stop is not started a second time', async () => {
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

  test('an event from before a pause that is processed during it starts no daemon', async () => {
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

  test('an index is unchanged during a pause, and complete when handlers are called after it', async () => {
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

  test('a paused operator reports that it is paused and ready, and gives its streams time to return', async () => {
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

  test('webhook requests are answered during a pause, even before the indices are filled', async () => {
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

  test('a paused operator can be stopped', async () => {
    await peering.create()
    const kopf = createOperator()
    kopf.on.event(lab.widgets, () => {})
    const running = await lab.start(kopf, { identity: 'me' })
    await pause()
    await lab.stop(running)
    expect(Object.keys(await peering.records())).toEqual(['them'])
  })
})
