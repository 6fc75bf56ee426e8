/**
 * The faults F1 to F9 of the catalogue, on a real API server: an operator in this process behind a proxy. While each fault is
 * on, objects are made, edited and deleted; afterwards nothing is lost, nothing is done twice, and few requests were needed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ConnectionInfo } from 'kopf'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { startControlPlane } from '../../../tools/envtest/control-plane.ts'
import { useCleanLab } from '../../support/handled.ts'
import { Lab } from '../../support/lab.ts'
import { answer, everyNth, expiredEvent, isAny, isWatch, isWrite, on, tooLargeVersion } from './faults.ts'
import { ChaosProxy, type Fate, type Fault, type Passing } from './proxy.ts'
import { createOperator, Scene } from './support.ts'
import { cutAfter, cutInCharacter, cutInLine, interject, silent, type Tap, type WatchPipe } from './watch-pipe.ts'

const lab = useCleanLab()
let proxy: ChaosProxy

beforeEach(async () => {
  proxy = await ChaosProxy.start(inject('realCluster'))
})
afterEach(async () => {
  await lab.stopAll()
  await proxy[Symbol.asyncDispose]()
})

/** Without faults the scene takes about forty requests, discovery and watches included. */
const mostRequests = 150

async function play(during: (meanwhile: () => Promise<void>) => Promise<void>): Promise<Scene> {
  const scene = new Scene(lab)
  await scene.play(proxy.url, during)
  expect(proxy.requests.length).toBeLessThan(mostRequests)
  return scene
}

/** The fault is on while the scene changes, and until the operator has met it a few times. */
async function playWith(fault: Fault, times: number = 3, open: (watch: WatchPipe) => void = () => {}): Promise<void> {
  await play(async (meanwhile) => {
    const met = proxy.faulted + times
    proxy.fault = fault
    for (const watch of proxy.watches) open(watch)
    await meanwhile()
    await lab.until(() => proxy.faulted >= met)
    proxy.heal()
  })
}

const cut = (watch: WatchPipe): void => watch.cut()

/** The watches that are open are treated so, and those that come while the scene changes. */
async function playTapped(tap: () => Tap): Promise<void> {
  const fault = on(isWatch, () => ({ type: 'tap', tap: tap() }))
  await playWith(fault, 1, (watch) => {
    watch.tap = tap()
  })
}

const isOurs = ({ path }: Passing): boolean => path.includes(lab.group)
const isOurWatch = (request: Passing): boolean => isWatch(request) && isOurs(request)

test('the scene without any fault takes few requests', async () => {
  await play((meanwhile) => meanwhile())
  expect(proxy.faulted).toBe(0)
  expect(proxy.requests.length).toBeLessThan(60)
})

describe('F1: the server is away', () => {
  test('connections are refused for a while', async () => {
    await play(async (meanwhile) => {
      await proxy.refuse()
      await meanwhile()
      await sleep(1500)
      await proxy.accept()
    })
  })

  test('connections are reset', () =>
    playWith(
      on(isAny, () => ({ type: 'reset' })),
      6,
    ))

  test('the API server is killed and started again', async () => {
    await using plane = await startControlPlane()
    const own = new Lab({ cluster: plane })
    await own.open()
    const between = await ChaosProxy.start(plane)
    try {
      await new Scene(own).play(between.url, async (meanwhile) => {
        await meanwhile()
        await plane.killApiServer()
        await sleep(1000)
        await plane.startApiServer()
      })
      expect(between.requests.length).toBeLessThan(mostRequests)
    } finally {
      await own.stopAll()
      await between[Symbol.asyncDispose]()
      await own.close()
    }
  }, 60_000)
})

describe('F2: the version is gone', () => {
  test('said by the status of the answer', () => {
    const isGoingOn = (request: Passing) => isOurWatch(request) && request.query.has('resourceVersion')
    return playWith(
      on(isGoingOn, () => answer(410)),
      1,
      cut,
    )
  })

  test('said by an event', () => playTapped(() => interject(expiredEvent())))

  test('said to those who ask for the next page', async () => {
    const calls: Parameters<typeof createOperator>[1] = []
    const operator = createOperator(lab, calls)
    operator.settings.watching.initialStreaming = false
    operator.settings.watching.chunkSize = 2
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const name of names) await lab.create(name, { spec: { value: 1 } })
    let left = 2
    proxy.fault = on(
      ({ query }) => query.has('continue') && left-- > 0,
      () => answer(410),
    )
    await lab.start(operator, { connection: new ConnectionInfo({ server: proxy.url }) })
    for (const name of names) await lab.untilObject(name, ({ status }) => (status as { sized?: number })?.sized === 1)
    expect(proxy.faulted).toBe(2)
    expect(calls.filter(({ handler }) => handler === 'made')).toHaveLength(names.length)
  })
})

describe('F3: the server is behind', () => {
  test('for each watch that goes on from a version', () => playWith(on(isOurWatch, tooLargeVersion), 2, cut))
})

describe('F4: a watch is cut', () => {
  const cases: ReadonlyArray<readonly [string, () => Tap]> = [
    ['in the middle of a line', () => cutInLine()],
    ['in the middle of a line, in good order', () => cutInLine('end')],
    ['in the middle of a character', () => cutInCharacter()],
    ['after the first byte', () => cutAfter(1)],
    ['after 17 bytes', () => cutAfter(17)],
    ['after 300 bytes, in good order', () => cutAfter(300, 'end')],
    ['after 1000 bytes', () => cutAfter(1000)],
  ]
  test.each(cases)('%s', (_, tap) => playTapped(tap))
})

describe('F5: the other side has gone without a word', () => {
  test('watches that are open say nothing any more', async () => {
    await play(async (meanwhile) => {
      const watches = [...proxy.watches]
      for (const watch of watches) watch.tap = silent()
      await meanwhile()
      await lab.until(() => watches.every((watch) => !proxy.watches.has(watch)))
    })
  })

  test('requests are not answered', () =>
    playWith(
      everyNth(2, isAny, () => ({ type: 'hang' })),
      4,
    ))
})

describe('F6: the server is slow', () => {
  test('answers come in drops', () =>
    playWith(
      on(
        ({ isWatch }) => !isWatch,
        () => ({ type: 'drip', bytes: 20, everyMs: 20 }),
      ),
    ))

  test('watches do not even begin', () =>
    playWith(
      on(isWatch, () => ({ type: 'hang' })),
      2,
      cut,
    ))
})

describe('F7: the server has too much to do', () => {
  const cases: ReadonlyArray<readonly [string, () => Fate]> = [
    ['429 with Retry-After', () => answer(429, { 'retry-after': '1' })],
    ['429', () => answer(429)],
    ['500', () => answer(500)],
    ['502 of something in front', () => answer(502)],
    ['503', () => answer(503)],
  ]
  test.each(cases)('%s to everything', (_, fate) => playWith(on(isAny, fate), 5))
  test.each(cases)('%s to every second request', (_, fate) => playWith(everyNth(2, isAny, fate), 5))
})

test('F7: a storm that lasts is not answered with another one', async () => {
  await play(async (meanwhile) => {
    const before = proxy.requests.length
    proxy.fault = on(isAny, () => answer(503))
    for (const watch of proxy.watches) cut(watch)
    await meanwhile()
    await sleep(4000)
    proxy.heal()
    expect(proxy.faulted).toBeGreaterThan(3)
    expect(proxy.requests.length - before).toBeLessThan(60)
  })
})

describe('F8: there are conflicts', () => {
  test.each([1, 2, 3])('409 to one write in %i', (k) =>
    playWith(
      everyNth(k, isWrite, () => answer(409)),
      3,
    ),
  )
})

describe('F9: the answer is lost', () => {
  test.each([1, 2])('to one write in %i', (k) =>
    playWith(
      everyNth(k, isWrite, () => ({ type: 'lose' })),
      3,
    ),
  )
})

test('every answer comes late', () =>
  playWith(
    on(isAny, () => ({ type: 'delay', ms: 300 })),
    5,
  ))
