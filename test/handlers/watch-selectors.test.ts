import { Operator, PRESENT, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'
import { cutBy, gate, refusal } from '../support/recording.ts'

const lab = useLab()
const lastHandled = 'kopf.zalando.org/last-handled-configuration'

test('the label selector of a watch is the union of the label filters of all handlers', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'web', labels: { app: 'web', tier: PRESENT } }, ({ name }) => void seen.push(name))
  kopf.on.event(lab.widgets, { id: 'db', labels: { app: 'db' } }, ({ name }) => void seen.push(name))
  const transport = lab.record()
  await lab.create('neither', { metadata: { labels: { app: 'other' } } })
  await lab.create('unlabelled')
  await lab.create('a-db', { metadata: { labels: { app: 'db' } } })
  await lab.start(kopf, { transport })
  await lab.create('a-web', { metadata: { labels: { app: 'web', tier: 'front' } } })
  await lab.untilObject('a-web', ({ metadata }) => lastHandled in (metadata.annotations ?? {}))
  expect(seen).toEqual(['a-db', 'a-web'])
  const asked = transport.requests.filter(({ path }) => path === lab.path())
  expect(asked.length).toBeGreaterThan(0)
  for (const { query } of asked) expect(query.get('labelSelector')).toBe('app in (db,web)')
})

test('labels for which handlers have different filters are not part of the label selector', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'a', labels: { app: 'web' } }, () => {})
  kopf.on.event(lab.widgets, { id: 'b', labels: { app: (app?: string) => app === undefined } }, () => {})
  const transport = lab.record()
  await lab.start(kopf, { transport })
  expect(transport.watches(lab.path()).map(({ query }) => query.get('labelSelector'))).toEqual([null])
})

test('an object that leaves the label selector loses its finalizer, and its later deletion is not reported', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const labels = { mine: 'yes' }
  kopf.on.event(lab.widgets, { labels }, ({ name, event }) => void calls.push(`${event.type} ${name}`))
  kopf.on.delete(lab.widgets, { labels }, ({ name }) => void calls.push(`delete ${name}`))
  await lab.start(kopf)
  await lab.create('leaver', { metadata: { labels, finalizers: ['example.com/foreign'] } })
  await lab.untilObject('leaver', ({ metadata }) => metadata.finalizers?.length === 2)
  await lab.until(() => calls.includes('MODIFIED leaver'))
  await lab.patch('leaver', { metadata: { labels: { mine: 'no' } } })
  const { metadata } = await lab.untilObject('leaver', (body) => body.metadata.finalizers?.length === 1)
  expect(metadata.finalizers).toEqual(['example.com/foreign'])
  const isEnd = (call: string) => call.startsWith('DELETED') || call.startsWith('delete')
  expect(calls.filter(isEnd)).toEqual([])
  calls.length = 0

  await lab.patch('leaver', { metadata: { labels } })
  await lab.untilObject('leaver', (body) => body.metadata.finalizers?.length === 2)
  expect(calls[0]).toBe('ADDED leaver')
  await lab.patch('leaver', { metadata: { labels: null } })
  await lab.untilObject('leaver', (body) => body.metadata.finalizers?.length === 1)
  await lab.patch('leaver', { metadata: { finalizers: null } })
  await lab.delete('leaver')
  await lab.untilGone('leaver')
  await lab.elapse(0.3)
  expect(calls.filter(isEnd)).toEqual([])
})

test('a deletion of an object is reported, with or without a finalizer', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const labels = { mine: 'truly' }
  kopf.on.event(lab.widgets, { labels }, ({ name, event }) => void calls.push(`${event.type} ${name}`))
  const running = await lab.start(kopf)
  await lab.create('plain', { metadata: { labels } })
  await lab.until(() => calls.includes('ADDED plain'))
  await lab.delete('plain')
  await lab.until(() => calls.includes('DELETED plain'))
  await lab.stop(running)

  kopf.on.delete(lab.widgets, { labels }, ({ name }) => void calls.push(`delete ${name}`))
  calls.length = 0
  await lab.start(kopf)
  await lab.create('held', { metadata: { labels } })
  await lab.untilObject('held', ({ metadata }) => metadata.finalizers !== undefined)
  await lab.delete('held')
  await lab.until(() => calls.includes('DELETED held'))
  expect(calls.filter((call) => !call.startsWith('MODIFIED'))).toEqual(['ADDED held', 'delete held', 'DELETED held'])
})

test('a recreated object of the same name is a new object', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const labels = { mine: 'again' }
  kopf.on.event(lab.widgets, { labels }, ({ event, uid }) => void calls.push(`${event.type} ${uid}`))
  await lab.start(kopf)
  const first = await lab.create('phoenix', { metadata: { labels } })
  await lab.delete('phoenix')
  const second = await lab.create('phoenix', { metadata: { labels } })
  await lab.until(() => calls.length === 3)
  expect(new Set(calls)).toEqual(
    new Set([`ADDED ${first.metadata.uid}`, `DELETED ${first.metadata.uid}`, `ADDED ${second.metadata.uid}`]),
  )
})

test('a retry of an object outside of the label selector waits until the object returns', async () => {
  const retries: number[] = []
  const kopf = new Operator()
  const labels = { mine: 'retrying' }
  kopf.on.create(lab.widgets, { id: 'slow', labels }, ({ retry }) => {
    retries.push(retry)
    if (retry < 1) throw new TemporaryError('not yet', { delay: 0.3 })
  })
  await lab.start(kopf)
  await lab.create('absent', { metadata: { labels } })
  await lab.untilObject('absent', ({ metadata }) => 'kopf.zalando.org/slow' in (metadata.annotations ?? {}))
  await lab.patch('absent', { metadata: { labels: { mine: null } } })
  await lab.elapse(1)
  expect(retries).toEqual([0])
  await lab.patch('absent', { metadata: { labels } })
  await lab.untilObject('absent', ({ metadata }) => lastHandled in (metadata.annotations ?? {}))
  expect(retries).toEqual([0, 1])
})

test('selectors of the settings are part of each watch, in any notation of the resource', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.startup(({ settings }) => {
    settings.watching.labelSelectors.set(lab.widgets, 'env=prod')
    settings.watching.labelSelectors.set({ group: lab.group, kind: 'Widget' }, 'region!=moon')
    settings.watching.labelSelectors.set('pods', 'never=true')
    settings.watching.fieldSelectors.set(`widgets.${lab.group}`, 'metadata.name!=skipped')
  })
  kopf.on.event(lab.widgets, ({ name }) => void seen.push(name))
  const transport = lab.record()
  await lab.create('prod', { metadata: { labels: { env: 'prod' } } })
  await lab.create('skipped', { metadata: { labels: { env: 'prod' } } })
  await lab.create('on-moon', { metadata: { labels: { env: 'prod', region: 'moon' } } })
  await lab.start(kopf, { transport })
  await lab.create('late-prod', { metadata: { labels: { env: 'prod' } } })
  await lab.until(() => seen.length === 2)
  expect(seen).toEqual(['prod', 'late-prod'])
  const { query } = transport.watches(lab.path())[0]!
  expect(query.get('labelSelector')).toBe('env=prod,region!=moon')
  expect(query.get('fieldSelector')).toBe('metadata.name!=skipped')
})

test('an object that leaves the selectors of the settings loses its finalizer', async () => {
  const kopf = new Operator({ settings: { watching: { labelSelectors: [[lab.widgets, 'shard=one']] } } })
  kopf.on.delete(lab.widgets, () => {})
  await lab.start(kopf)
  await lab.create('mover', { metadata: { labels: { shard: 'one' } } })
  await lab.untilObject('mover', ({ metadata }) => metadata.finalizers !== undefined)
  await lab.patch('mover', { metadata: { labels: { shard: 'two' } } })
  await lab.untilObject('mover', ({ metadata }) => metadata.finalizers === undefined)
})

test('an object that leaves and returns at once is handled in its latest state', async () => {
  const calls: string[] = []
  const held = gate()
  const kopf = new Operator()
  const labels = { mine: 'to-and-fro' }
  kopf.on.create(lab.widgets, { labels }, async () => {
    calls.push('create')
    await held.opened
  })
  kopf.on.update(lab.widgets, { labels }, ({ old, new: now }) => {
    calls.push(`${old?.['spec']['size']}->${now?.['spec']['size']}`)
  })
  await lab.start(kopf)
  await lab.create('swinging', { metadata: { labels }, spec: { size: 1 } })
  await lab.until(() => calls.length === 1)
  // Both changes come while the handler runs.
  await lab.patch('swinging', { metadata: { labels: { mine: null } } })
  await lab.patch('swinging', { metadata: { labels }, spec: { size: 2 } })
  await lab.elapse(0.2)
  held.open()
  await lab.until(() => calls.length === 2)
  expect(calls).toEqual(['create', '1->2'])
})

test('an object that returns while the operator checks whether it exists is handled in its latest state', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const labels = { mine: 'undecided' }
  kopf.on.create(lab.widgets, { labels }, () => void calls.push('create'))
  kopf.on.update(lab.widgets, { labels }, ({ spec }) => void calls.push(`update to ${spec['size']}`))
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('undecided', { metadata: { labels }, spec: { size: 1 } })
  await lab.untilObject('undecided', ({ metadata }) => lastHandled in (metadata.annotations ?? {}))
  const asked = gate()
  const answered = gate()
  transport.meddle = async ({ method, path }, send) => {
    if (method !== 'GET' || !path.endsWith('/undecided')) return send()
    asked.open()
    await answered.opened
    return send()
  }
  await lab.patch('undecided', { metadata: { labels: { mine: null } } })
  let isAsked = false
  void asked.opened.then(() => (isAsked = true))
  await lab.until(() => isAsked)
  await lab.patch('undecided', { metadata: { labels }, spec: { size: 2 } })
  await lab.elapse(0.2)
  answered.open()
  await lab.until(() => calls.length === 2)
  expect(calls).toEqual(['create', 'update to 2'])
})

test('an object that leaves the label selector while it is being deleted loses its finalizer', async () => {
  const kopf = new Operator()
  const labels = { mine: 'dying' }
  kopf.on.delete(lab.widgets, { labels }, () => {
    throw new TemporaryError('not yet', { delay: 600 })
  })
  await lab.start(kopf)
  await lab.create('dying', { metadata: { labels } })
  await lab.untilObject('dying', ({ metadata }) => metadata.finalizers !== undefined)
  await lab.delete('dying')
  await lab.untilLogged('not yet')
  await lab.patch('dying', { metadata: { labels: null } })
  await lab.untilGone('dying')
})

test('an object that has left the label selector while the watch was down loses its finalizer', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  const labels = { mine: 'unwatched' }
  kopf.on.event(lab.widgets, { labels }, ({ name, event }) => void seen.push(`${event.type} ${name}`))
  kopf.on.delete(lab.widgets, { labels }, () => {})
  const transport = lab.record()
  const [cut, goOn] = [gate(), gate()]
  let isFirst = true
  transport.meddle = async ({ path, query }, send) => {
    if (path !== lab.path() || query.get('watch') !== 'true') return send()
    if (isFirst) {
      isFirst = false
      const response = await send()
      return { ...response, body: cutBy(response.body, cut.opened) }
    }
    await goOn.opened
    // The resource version at the end of the first watch has expired.
    return query.get('sendInitialEvents') === 'true' ? send() : refusal(410)
  }
  await lab.start(kopf, { transport })
  await lab.create('slipped', { metadata: { labels } })
  await lab.untilObject('slipped', ({ metadata }) => lastHandled in (metadata.annotations ?? {}))
  await lab.until(() => seen.length > 1)
  cut.open()
  await lab.elapse(0.2)
  await lab.patch('slipped', { metadata: { labels: { mine: null } } })
  goOn.open()
  await lab.untilObject('slipped', ({ metadata }) => metadata.finalizers === undefined)
  expect(seen).not.toContain('DELETED slipped')
})

test('a failed removal of the finalizer is retried', async () => {
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [] }, queueing: { errorDelays: [0.1] } } })
  const labels = { mine: 'clinging' }
  kopf.on.delete(lab.widgets, { labels }, () => {})
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('clinging', { metadata: { labels } })
  await lab.untilObject('clinging', ({ metadata }) => lastHandled in (metadata.annotations ?? {}))
  const failures = { GET: 2, PATCH: 2 }
  transport.meddle = async ({ method, path }, send) => {
    if (!path.endsWith('/clinging') || (method !== 'GET' && method !== 'PATCH') || failures[method] === 0) return send()
    failures[method] -= 1
    return refusal(500)
  }
  await lab.patch('clinging', { metadata: { labels: { mine: null } } })
  await lab.untilObject('clinging', ({ metadata }) => metadata.finalizers === undefined)
  expect(failures).toEqual({ GET: 0, PATCH: 0 })
})
