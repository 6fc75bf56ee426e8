/**
 * The faults F1 to F9 of the catalogue, on a real API server, with an operator in this process behind a proxy. Objects are created,
 * edited and deleted during each fault; afterwards no change is lost, no handler is repeated, and few requests were sent.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ConnectionInfo } from 'kopf'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { startControlPlane } from '../../../tools/envtest/control-plane.ts'
import { useCleanLab } from '../../support/handled.ts'
import { Lab } from '../../support/lab.ts'
import { ChaosProxy, type Fate, type Fault, type Passing } from './chaos-proxy.ts'
import { createOperator, FaultScenario } from './fault-scenario.ts'
import { answer, everyNth, expiredEvent, isAny, isWatch, isWrite, on, tooLargeVersion } from './proxy-faults.ts'
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

/** The scenario takes about forty requests without faults, including discovery and watches. */
const mostRequests = 150

async function play(during: (meanwhile: () => Promise<void>) => Promise<void>): Promise<FaultScenario> {
  const scene = new FaultScenario(lab)
  await scene.play(proxy.url, during)
  expect(proxy.requests.length).toBeLessThan(mostRequests)
  return scene
}

/** The fault is active during the changes, and until it has affected the given number of requests. */
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

/** Taps the open watches, and those that are opened during the changes. */
async function playTapped(tap: () => Tap): Promise<void> {
  const fault = on(isWatch, () => ({ type: 'tap', tap: tap() }))
  await playWith(fault, 1, (watch) => {
    watch.tap = tap()
  })
}

const isOurs = ({ path }: Passing): boolean => path.includes(lab.group)
const isOurWatch = (request: Passing): boolean => isWatch(request) && isOurs(request)

test('the scenario takes few requests without any fault', async () => {
  await play((meanwhile) => meanwhile())
  expect(proxy.faulted).toBe(0)
  expect(proxy.requests.length).toBeLessThan(60)
})

describe('F1: unavailable server', () => {
  test('an operator handles all changes after connections were refused', async () => {
    await play(async (meanwhile) => {
      await proxy.refuse()
      await meanwhile()
      await sleep(1500)
      await proxy.accept()
    })
  })

  test('an operator handles all changes after connections were reset', () =>
    playWith(
      on(isAny, () => ({ type: 'reset' })),
      6,
    ))

  test('an operator handles all changes after the API server was killed and started again', async () => {
    await using plane = await startControlPlane()
    const own = new Lab({ cluster: plane })
    await own.open()
    const between = await ChaosProxy.start(plane)
    try {
      await new FaultScenario(own).play(between.url, async (meanwhile) => {
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

describe('F2: expired resource version', () => {
  test('an operator lists again after a watch is refused with 410', () => {
    const isGoingOn = (request: Passing) => isOurWatch(request) && request.query.has('resourceVersion')
    return playWith(
      on(isGoingOn, () => answer(410)),
      1,
      cut,
    )
  })

  test('an operator lists again after an ERROR event with 410', () => playTapped(() => interject(expiredEvent())))

  test('an operator lists again after the next page is refused with 410', async () => {
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

describe('F3: server behind the requested version', () => {
  test('an operator recovers from watches that are refused as too new', () =>
    playWith(on(isOurWatch, tooLargeVersion), 2, cut))
})

describe('F4: cut watches', () => {
  const cases: ReadonlyArray<readonly [string, () => Tap]> = [
    ['in the middle of a line', () => cutInLine()],
    ['in the middle of a line, with a proper end of the response', () => cutInLine('end')],
    ['in the middle of a character', () => cutInCharacter()],
    ['after the first byte', () => cutAfter(1)],
    ['after 17 bytes', () => cutAfter(17)],
    ['after 300 bytes, with a proper end of the response', () => cutAfter(300, 'end')],
    ['after 1000 bytes', () => cutAfter(1000)],
  ]
  test.each(cases)('an operator misses no change when a watch is cut %s', (_, tap) => playTapped(tap))
})

describe('F5: silent connections', () => {
  test('an operator replaces open watches that have become silent', async () => {
    await play(async (meanwhile) => {
      const watches = [...proxy.watches]
      for (const watch of watches) watch.tap = silent()
      await meanwhile()
      await lab.until(() => watches.every((watch) => !proxy.watches.has(watch)))
    })
  })

  test('an operator repeats requests that get no response', () =>
    playWith(
      everyNth(2, isAny, () => ({ type: 'hang' })),
      4,
    ))
})

describe('F6: slow server', () => {
  test('an operator handles all changes while responses arrive slowly', () =>
    playWith(
      on(
        ({ isWatch }) => !isWatch,
        () => ({ type: 'drip', bytes: 20, everyMs: 20 }),
      ),
    ))

  test('an operator handles all changes while watches do not start', () =>
    playWith(
      on(isWatch, () => ({ type: 'hang' })),
      2,
      cut,
    ))
})

describe('F7: overloaded server', () => {
  const cases: ReadonlyArray<readonly [string, () => Fate]> = [
    ['429 with Retry-After', () => answer(429, { 'retry-after': '1' })],
    ['429', () => answer(429)],
    ['500', () => answer(500)],
    ['502 of something in front', () => answer(502)],
    ['503', () => answer(503)],
  ]
  test.each(cases)('an operator handles all changes after a %s to every request', (_, fate) =>
    playWith(on(isAny, fate), 5),
  )
  test.each(cases)('an operator handles all changes after a %s to every second request', (_, fate) =>
    playWith(everyNth(2, isAny, fate), 5),
  )
})

test('an operator sends few requests while the server answers 503 for a long time', async () => {
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

describe('F8: conflicts', () => {
  test.each([1, 2, 3])('an operator handles all changes with a 409 to one write in %i', (k) =>
    playWith(
      everyNth(k, isWrite, () => answer(409)),
      3,
    ),
  )
})

describe('F9: lost responses', () => {
  test.each([1, 2])('an operator repeats no handler when the response to one write in %i is lost', (k) =>
    playWith(
      everyNth(k, isWrite, () => ({ type: 'lose' })),
      3,
    ),
  )
})

test('an operator handles all changes while every response is delayed', () =>
  playWith(
    on(isAny, () => ({ type: 'delay', ms: 300 })),
    5,
  ))
