/** Ten thousand timers that are due at the same time: all are called, in slices that leave time for other work. */
import { setImmediate as turn } from 'node:timers/promises'
import { Operator } from 'kopf'
import { beforeAll, expect, test } from 'vitest'
import { createLogSink } from '../../src/util/log/log.ts'
import { ask } from '../support/in-process.ts'
import { useLab } from '../support/lab.ts'

const lab = useLab()

const crowd = 10_000

/** Logging ten thousand objects would take longer than handling them. */
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

/** Counts calls per turn of the event loop. */
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

/** Advances the clock by ten minutes at once, and then runs the event loop turn by turn until the end. */
async function oversleep(turns: Turns, isOver: () => boolean): Promise<void> {
  const clock = lab.skippingClock
  clock.set(clock.now() + 600_000)
  for (let left = 10_000; !isOver() && left > 0; left -= 1) {
    clock.skip(clock.now())
    turns.next()
    await turn()
  }
}

/** Ten thousand objects are too many for a shared real cluster. */
const embedded = test.skipIf(lab.isReal)

embedded(
  'ten thousand due timers run in slices, once each, and changes of other objects are handled in between',
  async () => {
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
  },
)

embedded('ten thousand waiting daemons wake up in slices', async () => {
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
