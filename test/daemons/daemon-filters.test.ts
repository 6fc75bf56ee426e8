/** Daemons start and stop when their filters begin and cease to match; there is never more than one per object. */
import { ABSENT, Operator, PRESENT } from 'kopf'
import { describe, expect, test } from 'vitest'
import type { TransportResponse } from '../../src/util/transport.ts'
import type { Tree } from '../support/answers.ts'
import { finalizer, settle, useCleanLab } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { gate } from '../support/recording.ts'
import { Stubborn } from './daemon-support.ts'

const lab = useCleanLab()

/** The same response, whose chunks wait for the promise while the condition holds. */
function delayed(answer: TransportResponse, isSo: () => boolean, until: Promise<void>): TransportResponse {
  async function* body(): AsyncGenerator<Uint8Array> {
    for await (const chunk of answer.body) {
      if (isSo()) await until
      yield chunk
    }
  }
  return { ...answer, body: body() }
}

const isFree = ({ metadata }: Body): boolean => metadata.finalizers === undefined
const isHeld = ({ metadata }: Body): boolean => metadata.finalizers?.includes(finalizer) ?? false

describe('filters', () => {
  const on: Tree = { metadata: { labels: { on: 'yes' }, annotations: { on: 'yes' } }, spec: { on: 'yes' } }
  const off: Tree = { metadata: { labels: { on: null }, annotations: { on: null } }, spec: { on: null } }

  test.each([
    ['a label', { labels: { on: 'yes' } }],
    ['a label with any value', { labels: { on: PRESENT } }],
    ['a label matched by a function', { labels: { on: (value: string | undefined) => value === 'yes' } }],
    ['an annotation', { annotations: { on: 'yes' } }],
    ['a field', { field: 'spec.on' }],
    ['a value of a field', { field: 'spec.on', value: 'yes' }],
    ['a when function', { when: ({ spec }: { spec: { on?: unknown } }) => spec.on === 'yes' }],
    ['an absent label', { labels: { off: ABSENT, on: PRESENT } }],
  ] as const)('a daemon runs exactly while the object matches %s', async (_, filters) => {
    const kopf = new Operator()
    const seen: string[] = []
    kopf.daemon(lab.widgets, { id: 'd', ...(filters as object) }, async ({ stopped, name }) => {
      seen.push(`${name} starts`)
      await stopped.wait()
      seen.push(`${name} stops: ${stopped.reason}`)
    })
    // An event handler without filters keeps all objects within the selector of the watch.
    kopf.on.event(lab.widgets, () => {})
    await lab.start(kopf)
    await lab.create('never', { spec: {} })
    await lab.create('one', { ...on, metadata: { ...(on['metadata'] as Tree) } })
    await lab.until(() => seen.length === 1)
    await lab.patch('one', off)
    await lab.untilObject('one', isFree)
    await lab.patch('one', on)
    await lab.until(() => seen.length === 3)
    await lab.untilObject('one', isHeld)
    await lab.delete('one')
    await lab.untilGone('one')
    expect(seen).toEqual(['one starts', 'one stops: filters-mismatch', 'one starts', 'one stops: resource-deleted'])
    expect(isFree(await lab.get('never'))).toBe(true)
  })
})

test('a daemon is not affected by a change that is irrelevant to its filters', async () => {
  const kopf = new Operator()
  const daemon = new Stubborn(lab)
  kopf.daemon(lab.widgets, { field: 'spec.on', value: 'yes' }, daemon.fn)
  await lab.start(kopf)
  await lab.create('one', { spec: { on: 'yes' } })
  await lab.until(() => daemon.isRunning)
  for (const n of [1, 2, 3]) await lab.patch('one', { spec: { n }, metadata: { labels: { n: String(n) } } })
  await settle(lab)
  expect(daemon.calls).toBe(1)
  expect(daemon.atMs.stopped).toBeUndefined()
  daemon.letGo()
})

test('a daemon registered twice under one id runs once, while either filter matches', async () => {
  const kopf = new Operator()
  const daemon = new Stubborn(lab)
  kopf.daemon(lab.widgets, { id: 'd', annotations: { a: 'yes' } }, daemon.fn)
  kopf.daemon(lab.widgets, { id: 'd', annotations: { b: 'yes' } }, daemon.fn)
  await lab.start(kopf)
  await lab.create('one', { spec: {}, metadata: { annotations: { a: 'yes', b: 'yes' } } })
  await lab.until(() => daemon.isRunning)
  await lab.patch('one', { metadata: { annotations: { a: null } } })
  await settle(lab)
  expect(daemon.atMs.stopped).toBeUndefined()
  await lab.patch('one', { metadata: { annotations: { b: null } } })
  await lab.until(() => daemon.atMs.stopped !== undefined)
  daemon.letGo()
  await lab.untilObject('one', isFree)
  expect(daemon.calls).toBe(1)
})

test('a daemon that has ended by itself is not started again by another filter of the same id', async () => {
  const kopf = new Operator()
  let calls = 0
  const once = () => {
    calls += 1
  }
  kopf.daemon(lab.widgets, { id: 'd', annotations: { a: 'yes' } }, once)
  kopf.daemon(lab.widgets, { id: 'd', annotations: { b: 'yes' } }, once)
  await lab.start(kopf)
  await lab.create('one', { spec: {}, metadata: { annotations: { a: 'yes' } } })
  await lab.until(() => calls === 1)
  await lab.untilObject('one', isFree)
  await lab.patch('one', { metadata: { annotations: { a: 'no', b: 'yes' } } })
  await settle(lab)
  await lab.patch('one', { metadata: { annotations: { a: 'yes', b: 'yes' } } })
  await settle(lab)
  expect(calls).toBe(1)
  expect(isFree(await lab.get('one'))).toBe(true)
})

describe('flapping objects', () => {
  async function flap(last: 'yes' | 'no', finalizing: boolean): Promise<Stubborn> {
    const kopf = new Operator()
    const daemon = new Stubborn(lab)
    kopf.daemon(lab.widgets, { id: 'd', annotations: { on: 'yes' }, finalizer: finalizing }, daemon.fn)
    await lab.start(kopf)
    await lab.create('one', { metadata: { annotations: { on: 'yes' } } })
    await lab.until(() => daemon.isRunning)
    for (const on of ['no', 'yes', 'no', 'yes', 'no', 'yes', last]) {
      await lab.patch('one', { metadata: { annotations: { on } } })
      if (on === 'no') await lab.elapse(0.05)
    }
    await settle(lab)
    expect(daemon.calls).toBe(1)
    expect(isHeld(await lab.get('one'))).toBe(finalizing)
    daemon.letGo()
    return daemon
  }

  test.each([true, false])('a flapping object that matches last has a daemon (finalizer: %s)', async (finalizing) => {
    const daemon = await flap('yes', finalizing)
    await lab.until(() => daemon.calls === 2)
    await settle(lab)
    expect(daemon).toMatchObject({ calls: 2, most: 1, running: 1 })
    expect(isHeld(await lab.get('one'))).toBe(finalizing)
    daemon.letGo()
  })

  test.each([true, false])('a flapping object that mismatches last has none (finalizer: %s)', async (finalizing) => {
    const daemon = await flap('no', finalizing)
    await lab.untilObject('one', isFree)
    await settle(lab)
    expect(daemon).toMatchObject({ calls: 1, most: 1, running: 0 })
  })
})

describe('objects outside of the selector', () => {
  const asked = [
    ['the labels of all handlers', {}],
    ['a label selector of the settings', { watching: { labelSelectors: [[lab.widgets, 'on=yes']] } }],
  ] as const

  function build(settings: object, options: object = {}): { kopf: Operator; daemon: Stubborn } {
    const kopf = new Operator({ settings })
    const daemon = new Stubborn(lab)
    const labels = Object.keys(settings).length === 0 ? { labels: { on: 'yes' } } : {}
    kopf.daemon(lab.widgets, { id: 'd', ...labels, ...options }, daemon.fn)
    return { kopf, daemon }
  }

  const enter = () => lab.patch('one', { metadata: { labels: { on: 'yes' } } })
  const leave = () => lab.patch('one', { metadata: { labels: { on: 'no' } } })

  async function begin(settings: object, options: object = {}): Promise<Stubborn> {
    const { kopf, daemon } = build(settings, options)
    await lab.start(kopf)
    await lab.create('one', { metadata: { labels: { on: 'yes' } } })
    await lab.until(() => daemon.isRunning)
    await settle(lab)
    return daemon
  }

  test.each(asked)('an object filtered out by %s loses its finalizer after its daemon', async (_, settings) => {
    const daemon = await begin(settings)
    await leave()
    await lab.until(() => daemon.atMs.stopped !== undefined)
    expect(daemon.reason).toBe('filters-mismatch')
    await settle(lab)
    expect(isHeld(await lab.get('one'))).toBe(true)
    daemon.letGo()
    await lab.untilObject('one', isFree)
    await enter()
    await lab.until(() => daemon.calls === 2)
    expect(isHeld(await lab.get('one'))).toBe(true)
    daemon.letGo()
  })

  test.each(asked)('an object filtered out by %s does not wait for an orphaned daemon', async (_, settings) => {
    const daemon = await begin(settings, { cancellationTimeout: 0.1 })
    await leave()
    await lab.untilObject('one', isFree)
    expect(daemon.isRunning).toBe(true)
    await enter()
    await lab.untilObject('one', isHeld)
    await settle(lab)
    expect(daemon.calls).toBe(1)
    daemon.letGo()
    await lab.until(() => daemon.calls === 2)
    expect(daemon.most).toBe(1)
    daemon.letGo()
  })

  test.each([true, false])(
    'an object that is matched again while its daemon ends gets a new daemon afterwards (finalizer: %s)',
    async (finalizing) => {
      const daemon = await begin({}, { finalizer: finalizing })
      await leave()
      await lab.until(() => daemon.atMs.stopped !== undefined)
      await enter()
      await settle(lab)
      expect(daemon.calls).toBe(1)
      daemon.letGo()
      await lab.until(() => daemon.calls === 2)
      await settle(lab)
      expect(daemon).toMatchObject({ calls: 2, most: 1, running: 1 })
      expect(isHeld(await lab.get('one'))).toBe(finalizing)
      daemon.letGo()
    },
  )

  /** Without a finalizer the object is read once; with one it is read again when the daemon has ended. */
  const waysBack = (['before', 'after'] as const).flatMap((moment) =>
    (['at once', 'later'] as const).flatMap((told) => [
      { moment, told, finalizing: false, look: 1 },
      { moment, told, finalizing: true, look: 1 },
      { moment, told, finalizing: true, look: 2 },
    ]),
  )

  /** The response to the read shows the state before or after the return; the watch event comes before or after it. */
  test.each(waysBack)(
    'an object that returns $moment read $look, with its event $told, keeps one daemon (finalizer: $finalizing)',
    async (way) => {
      const kopf = new Operator()
      const seen: string[] = []
      kopf.daemon(lab.widgets, { id: 'd', labels: { on: 'yes' }, finalizer: way.finalizing }, async ({ stopped }) => {
        seen.push('starts')
        await stopped.wait()
        seen.push('stops')
      })
      const wire = lab.record()
      const looking = gate()
      const telling = gate()
      let looks = 0
      let hasLooked = false
      wire.meddle = async ({ method, path, query }, send) => {
        if (query.get('watch') === 'true') return delayed(await send(), () => looks === way.look, telling.opened)
        if (method !== 'GET' || path !== lab.path('one')) return send()
        looks += 1
        if (looks !== way.look) return send()
        const answer = way.moment === 'after' ? await send() : undefined
        hasLooked = true
        await looking.opened
        return answer ?? send()
      }
      await lab.start(kopf, { transport: wire })
      await lab.create('one', { metadata: { labels: { on: 'yes' } } })
      await lab.until(() => seen.length === 1)
      await settle(lab)
      await leave()
      await lab.until(() => hasLooked)
      await enter()
      for (const { open } of way.told === 'later' ? [looking, telling] : [telling, looking]) {
        open()
        await settle(lab)
      }
      // If the object is back before the first read, the operator never notices its absence.
      const isMissed = way.moment === 'before' && way.look === 1
      const expected = isMissed ? ['starts'] : ['starts', 'stops', 'starts']
      await lab.until(() => seen.length === expected.length)
      await lab.untilObject('one', way.finalizing ? isHeld : isFree)
      await lab.patch('one', { spec: { n: 2 } })
      await settle(lab)
      expect(seen).toEqual(expected)
    },
  )

  test('an object that is matched again while an orphaned daemon runs gets its daemon after that one', async () => {
    const { kopf, daemon } = build({}, { cancellationTimeout: 0.1 })
    const wire = lab.record()
    const telling = gate()
    let isBack = false
    wire.meddle = async ({ query }, send) => {
      const answer = await send()
      return query.get('watch') === 'true' ? delayed(answer, () => isBack, telling.opened) : answer
    }
    await lab.start(kopf, { transport: wire })
    await lab.create('one', { metadata: { labels: { on: 'yes' } } })
    await lab.until(() => daemon.isRunning)
    await settle(lab)
    await leave()
    await lab.until(() => daemon.atMs.stopped !== undefined)
    isBack = true
    await enter()
    await settle(lab)
    telling.open()
    await lab.untilObject('one', isHeld)
    await settle(lab)
    expect(daemon.calls).toBe(1)
    daemon.letGo()
    await lab.until(() => daemon.calls === 2)
    expect(daemon.most).toBe(1)
    daemon.letGo()
  })

  test('an object that is filtered out and deleted while its daemon ends is released after the daemon', async () => {
    const daemon = await begin({})
    await leave()
    await lab.until(() => daemon.atMs.stopped !== undefined)
    await lab.delete('one')
    await settle(lab)
    expect(await lab.exists('one')).toBe(true)
    daemon.letGo()
    await lab.untilGone('one')
  })
})
