/** A listener that throws: the operator, the dashboard and the other listeners go on. */
import { type Observer, Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { eventNames, Observers } from '../../src/run/observers.ts'
import type { Logger } from '../../src/util/log/log.ts'
import { useCleanLab } from '../support/handled.ts'
import { anywhere, openDashboard } from './dashboard-support.ts'

const lab = useCleanLab()

/** An observer that does something in each of its methods. */
function listenTo(listen: (name: keyof Observer) => void): Observer {
  const names = Object.keys(eventNames) as (keyof Observer)[]
  return Object.fromEntries(names.map((name) => [name, () => listen(name)])) as Observer
}

test('an observer that throws in every method disturbs neither the operator nor the dashboard', async () => {
  const thrown = new Set<string>()
  const observer = listenTo((name) => {
    thrown.add(name)
    throw new Error(`no ${name}`)
  })
  const kopf = new Operator({ settings: { dashboard: { address: anywhere } } })
  kopf.on.create(lab.widgets, { id: 'flaky' }, ({ retry }) => {
    if (retry === 0) throw new TemporaryError('not yet', { delay: 1 })
    return 'done'
  })
  kopf.daemon(lab.widgets, { id: 'watcher' }, ({ stopped }) => stopped.wait())
  const running = await lab.start(kopf, { observer })
  const browser = await openDashboard(running)
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', ({ status }) => (status as { flaky?: string } | undefined)?.flaky === 'done')
  const object = { resource: `widgets.v1.${lab.group}`, namespace: lab.namespace, name: 'one' }
  await lab.until(async () => (await browser.view('object', object)).object.state === 'handled')
  const { timeline } = await browser.view('object', object)
  expect(new Set(timeline.map(({ type }) => type))).toEqual(
    new Set(['state', 'decision', 'handler', 'write', 'daemon']),
  )
  expect((await browser.view('handlers')).handlers).toContainEqual(
    expect.objectContaining({ id: 'flaky', calls: 2, succeeded: 1, retrying: 1 }),
  )
  await lab.delete('one')
  await lab.untilGone('one')
  await lab.stop(running)
  for (const name of thrown) {
    expect(lab.logs.filter((line) => line.includes(`The observer has failed in "${name}": no ${name}`))).toHaveLength(1)
  }
  expect(thrown.size).toBeGreaterThan(10)
})

test('each listener gets each event, also after a listener that throws, and each event is logged once', () => {
  const lines: string[] = []
  const logger = { error: (message: string) => void lines.push(message) } as unknown as Logger
  const observers = new Observers(logger)
  const seen: string[] = []
  observers.add(listenTo((name) => void seen.push(`first ${name}`)))
  observers.add(
    listenTo((name) => {
      throw new Error(`no ${name}`)
    }),
  )
  observers.add(listenTo((name) => void seen.push(`last ${name}`)))
  const names = Object.keys(eventNames) as (keyof Observer)[]
  for (const round of [1, 2]) {
    seen.length = 0
    for (const name of names) observers.all[name]!({ round } as never)
    expect(seen).toEqual(names.flatMap((name) => [`first ${name}`, `last ${name}`]))
  }
  expect(lines).toEqual(names.map((name) => `The observer has failed in "${name}": no ${name}`))
})
