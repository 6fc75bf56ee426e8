/** One object whose handlers throw any value or never return does not affect other objects (P8). */
import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'

const lab = useLab()

const thrown: ReadonlyArray<readonly [what: string, value: unknown]> = [
  ['an error', new Error('bad')],
  ['undefined', undefined],
  ['null', null],
  ['a string', 'bad'],
  ['an object without a prototype', Object.create(null)],
  ['a symbol', Symbol('bad')],
  ['an endless temporary error', new TemporaryError('bad', { delay: 0.5 })],
]

test.skipIf(lab.isReal).each(thrown)(
  'a handler that throws %s for one object does not affect other objects',
  async (what, value) => {
    const kopf = new Operator({ settings: { execution: { defaultBackoff: 0.5 } } })
    const bad = `bad-${what.replaceAll(/\W+/g, '-')}`
    const calls: string[] = []
    kopf.on.create(lab.widgets, { id: 'fn' }, ({ name, retry }) => {
      calls.push(`${name} ${retry}`)
      if (name === bad) throw value
    })
    const running = await lab.start(kopf)
    await lab.create(bad)
    await lab.until(() => calls.includes(`${bad} 2`))
    await lab.create(`good-${bad}`)
    await lab.until(() => calls.includes(`good-${bad} 0`))
    await lab.elapse(10)
    const attempts = calls.filter((call) => call.startsWith(`${bad} `)).length
    expect(attempts).toBeLessThan(30)
    await lab.delete(bad)
    await lab.untilGone(bad)
    await lab.stop(running)
  },
)

test.skipIf(lab.isReal)(
  'handlers that never return block neither other objects nor the stop of the operator',
  async () => {
    const kopf = new Operator({ settings: { queueing: { workerLimit: 2 } } })
    const seen: string[] = []
    kopf.on.create(lab.widgets, { id: 'fn' }, ({ name }) => {
      seen.push(name)
      return name.startsWith('endless') ? new Promise(() => {}) : undefined
    })
    const running = await lab.start(kopf)
    for (const name of ['endless-1', 'endless-2', 'endless-3']) await lab.create(name)
    await lab.create('after-all')
    await lab.until(() => seen.includes('after-all'))
    const beganMs = lab.clock.now()
    await lab.stop(running)
    expect(lab.clock.now() - beganMs).toBeLessThan(20_000)
  },
)
