import { expect, test } from 'vitest'
import { ManualClock, settle } from '../../test/support/manual-clock.ts'
import { Renderings } from './renderings.ts'

const openMetrics = 'application/openmetrics-text;version=1.0.0'

function setUp(work: () => void | Promise<void> = () => {}) {
  const clock = new ManualClock()
  const begun: (string | undefined)[] = []
  const render = async (accept: string | undefined) => {
    begun.push(accept)
    await work()
    return { contentType: 'text/plain', body: `${begun.length}` }
  }
  return { clock, begun, renderings: new Renderings({ render }, { clock, signal: new AbortController().signal }) }
}

/** Blocks the event loop, as rendering does. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

test('requests that come while metrics are rendered share the next text of their format', async () => {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const { clock, begun, renderings } = setUp(() => opened)
  const first = renderings.render(undefined)
  await settle()
  const others = Array.from({ length: 50 }, (_, index) => renderings.render(index % 2 === 0 ? openMetrics : undefined))
  open()
  await first
  for (let turn = 0; turn < 3; turn += 1) await clock.advance(1000)
  expect(new Set((await Promise.all(others)).map(({ body }) => body))).toEqual(new Set(['2', '3']))
  expect(begun).toHaveLength(3)
})

test('after a rendering, the next one waits for nineteen times as long, and for at most a second', async () => {
  const { clock, begun, renderings } = setUp(() => block(20))
  await renderings.render(undefined)
  const second = renderings.render(undefined)
  await clock.advance(19 * 20 - 1)
  expect(begun).toHaveLength(1)
  await clock.advance(1000)
  await second
  expect(begun).toHaveLength(2)
})

test('metrics that are never ready are given up after ten seconds, and later requests are tried again', async () => {
  let isStuck = true
  const { clock, renderings } = setUp(() => (isStuck ? new Promise<void>(() => {}) : undefined))
  const first = renderings.render(undefined)
  first.catch(() => {})
  await settle()
  await clock.advance(10_000)
  await expect(first).rejects.toThrow('they are not ready after 10 seconds; check settings.metrics.registry')
  isStuck = false
  const second = renderings.render(undefined)
  await clock.advance(1000)
  expect(await second).toMatchObject({ body: '2' })
})
