/** Streams of the dashboard: views as server-sent events, their limits, and browsers that never read. */
import net from 'node:net'
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { useCleanLab } from '../support/handled.ts'
import { gate } from '../support/recording.ts'
import { anywhere, type Browser, openDashboard, type StreamEvent } from './dashboard-support.ts'

const lab = useCleanLab()

async function start(kopf: Operator = withCreation()): Promise<Browser> {
  return openDashboard(await lab.start(kopf))
}

function withCreation(): Operator {
  const kopf = new Operator({ settings: { dashboard: { address: anywhere } } })
  kopf.on.create(lab.widgets, () => {})
  return kopf
}

const hasRow = (name: string) => (event: StreamEvent) =>
  event.data.rows?.some((row: { readonly name: string }) => row.name === name)

test('a stream sends the view, and again when it has changed', async () => {
  const browser = await start()
  const stream = browser.stream({ view: 'objects' })
  expect(await stream.next()).toMatchObject({ event: 'view', data: { total: 0 } })
  await lab.create('one')
  expect(await stream.next(hasRow('one'))).toMatchObject({ event: 'view', data: { total: 1 } })
  const ids = stream.events.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  stream.close()
})

test('a stream that is resumed with the id of the present state sends nothing until something changes', async () => {
  const browser = await start()
  await lab.create('one')
  const first = browser.stream({ view: 'objects', state: 'handled' })
  const last = await first.next(hasRow('one'))
  first.close()
  const resumed = browser.stream({ view: 'objects', state: 'handled' }, { 'last-event-id': last.id })
  await lab.create('two')
  const { data } = await resumed.next()
  expect(hasRow('two')({ ...last, data })).toBe(true)
  expect(resumed.events).toHaveLength(1)
  resumed.close()
})

test('a stream of an object shows a handler while it runs', async () => {
  const kopf = new Operator({ settings: { dashboard: { address: anywhere } } })
  const ended = gate()
  kopf.on.create(lab.widgets, { id: 'slow' }, () => ended.opened)
  const browser = await start(kopf)
  await lab.create('one')
  const query = { view: 'object', resource: `widgets.v1.${lab.group}`, namespace: lab.namespace, name: 'one' }
  const stream = browser.stream(query)
  const outcomeIs = (outcome: string) => (event: StreamEvent) =>
    event.data.timeline?.some((entry: { readonly outcome?: string }) => entry.outcome === outcome)
  await stream.next(outcomeIs('running'))
  ended.open()
  await stream.next(outcomeIs('succeeded'))
  stream.close()
})

test('a stream of an object that does not exist has a problem in words', async () => {
  const browser = await start()
  const query = { view: 'object', resource: `widgets.v1.${lab.group}`, namespace: lab.namespace, name: 'one' }
  const stream = browser.stream(query)
  expect(await stream.next()).toMatchObject({ event: 'problem', data: { code: 'KOPF_DASHBOARD_REQUEST' } })
  stream.close()
})

test('a session has at most twelve streams, and gets new ones when others are closed', async () => {
  const browser = await start()
  const streams = Array.from({ length: 12 }, () => browser.stream({ view: 'overview' }))
  for (const stream of streams) await stream.next()
  expect((await browser.send('api/stream?view=overview')).status).toBe(429)
  for (const stream of streams) stream.close()
  await lab.until(async () => {
    const stream = browser.stream({ view: 'overview' })
    const isOpen = await stream.next().then(
      () => true,
      () => false,
    )
    stream.close()
    return isOpen
  })
})

test('a browser that never reads does not slow the operator down', async () => {
  const browser = await start()
  const { port, host } = browser.url
  const socket = net.connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  socket.write(`GET /api/stream?view=objects&limit=200 HTTP/1.1\r\nhost: ${host}\r\ncookie: ${browser.cookie}\r\n\r\n`)
  for (let round = 0; round < 5; round += 1) {
    await lab.create(`object-${round}`)
    await lab.untilObject(`object-${round}`, ({ metadata }) => Object.keys(metadata.annotations ?? {}).length > 0)
  }
  expect((await browser.view('objects')).total).toBe(5)
  socket.destroy()
})
