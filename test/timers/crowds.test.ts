/** Ten thousand timers that are due at the same moment: all are called, and nobody else has to wait for all of them. */
import { setImmediate as turn } from 'node:timers/promises'
import { Operator } from 'kopf'
import { beforeAll, expect, test } from 'vitest'
import type { SkippingClock } from '../../src/testing/skipping-clock.ts'
import { createLogSink } from '../../src/util/log.ts'
import { ask } from '../support/in-process.ts'
import { useLab } from '../support/lab.ts'

const lab = useLab()

const crowd = 10_000

/** What is said about ten thousand objects would take longer than what is done for them. */
const logging = createLogSink({ quiet: true, write: () => {} })

beforeAll(async () => {
  if (lab.isReal) return
  const created = Array.from({ length: crowd }, (_, index) =>
    ask(lab.server, 'POST', lab.path(), {
      body: { apiVersion: `${lab.group}/v1`, kind: 'Widget', metadata: { name: `w-${index}` }, spec: {} },
    }),
  )
  await Promise.all(created)
})

/** Turns of the event loop, and how much of something was done in each. */
class Turns {
  readonly #counts: number[] = [0]

  count(): void {
    this.#counts[this.#counts.length - 1]! += 1
  }

  next(): void {
    this.#counts.push(0)
  }

  get most(): number {
    return Math.max(...this.#counts)
  }

  get total(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }
}

/** Everybody has slept through ten minutes; whatever follows from that happens turn by turn. */
async function oversleep(turns: Turns, isOver: () => boolean): Promise<void> {
  const clock = lab.clock as SkippingClock
  clock.set(clock.now() + 600_000)
  for (let left = 10_000; !isOver() && left > 0; left -= 1) {
    clock.skip(clock.now())
    turns.next()
    await turn()
  }
}

/** So many would be due at once only where there are so many: not for a cluster that others use as well. */
const embedded = test.skipIf(lab.isReal)

embedded('timers: a slice in each turn, once each, and changes of other objects get through meanwhile', async () => {
  const kopf = new Operator()
  const turns = new Turns()
  const calls = new Map<string, number>()
  let callsBeforeUpdate = 0
  kopf.timer(lab.widgets, { id: 't', interval: 300, initialDelay: 300, finalizer: false }, ({ name }) => {
    turns.count()
    calls.set(name, (calls.get(name) ?? 0) + 1)
    if (calls.size === 1) void lab.patch('other', { spec: { n: 1 } })
  })
  kopf.on.update(lab.widgets, { id: 'u', labels: { other: 'yes' } }, () => {
    callsBeforeUpdate = turns.total
  })
  await lab.start(kopf, { logging })
  await lab.create('other', { metadata: { labels: { other: 'yes' } }, spec: {} })
  await lab.elapse(1)
  expect(calls.size).toBe(0)
  await oversleep(turns, () => calls.size === crowd + 1)
  expect(calls.size).toBe(crowd + 1)
  expect(new Set(calls.values())).toEqual(new Set([1]))
  expect(turns.most).toBeLessThanOrEqual(100)
  expect(callsBeforeUpdate).toBeGreaterThan(0)
  expect(callsBeforeUpdate).toBeLessThan(crowd / 2)
})

embedded('daemons that wait: a slice in each turn', async () => {
  const kopf = new Operator()
  const turns = new Turns()
  const daemons = new Set<string>()
  kopf.daemon(lab.widgets, { id: 'd', finalizer: false }, async ({ stopped, name }) => {
    daemons.add(name)
    while (!(await stopped.wait(300))) turns.count()
  })
  await lab.start(kopf, { logging })
  await lab.elapse(1)
  expect(daemons.size).toBeGreaterThanOrEqual(crowd)
  await oversleep(turns, () => turns.total === daemons.size)
  expect(turns.total).toBe(daemons.size)
  expect(turns.most).toBeLessThanOrEqual(100)
})
