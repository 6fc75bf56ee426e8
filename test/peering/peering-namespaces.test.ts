/** A peering in one of several namespaces pauses only this namespace. */
import { Operator } from 'kopf'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { usePeeringLab } from './peering-lab.ts'

const peering = usePeeringLab('kopf.dev')
const { lab } = peering
const mine = lab.namespace
const theirs = `${lab.namespace}-b`
const strong = { priority: 100, lifetime: 3600 }

beforeAll(async () => {
  await lab.call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: theirs } })
  await lab.install({ kind: 'Station', scope: 'Cluster' })
})

afterEach(async () => {
  await lab.stopAll()
  await lab.call('DELETE', `/apis/${lab.group}/v1/namespaces/${theirs}/widgets`)
  await lab.call('DELETE', `/apis/${lab.group}/v1/stations`)
  await peering.delete({ namespace: theirs })
})

afterAll(async () => {
  await lab.call('DELETE', `/api/v1/namespaces/${theirs}`)
})

async function create(name: string, namespace: string | undefined): Promise<void> {
  const [kind, place] =
    namespace === undefined ? ['Station', 'stations'] : ['Widget', `namespaces/${namespace}/widgets`]
  const path = `/apis/${lab.group}/v1/${place}`
  const { status } = await lab.call('POST', path, { apiVersion: `${lab.group}/v1`, kind, metadata: { name } })
  expect(status).toBe(201)
}

/** An operator that records every call with the name of the object. */
function createOperator(): { kopf: Operator; calls: string[] } {
  const calls: string[] = []
  const kopf = new Operator({ settings: { peering: { name: peering.name } } })
  kopf.on.event(lab.widgets, ({ name }) => void calls.push(`event ${name}`))
  kopf.on.create(lab.widgets, ({ name }) => void calls.push(`create ${name}`))
  kopf.timer(
    lab.widgets,
    { id: 'timer', interval: 1, finalizer: false },
    ({ name }) => void calls.push(`timer ${name}`),
  )
  kopf.daemon(lab.widgets, { id: 'daemon', finalizer: false }, async ({ name, stopped }) => {
    calls.push(`daemon ${name} begins`)
    await stopped.wait('1h')
    calls.push(`daemon ${name} ends: ${stopped.reason}`)
  })
  kopf.on.event([lab.group, 'v1', 'stations'], ({ name }) => void calls.push(`event ${name}`))
  return { kopf, calls }
}

const names = { namespaces: [mine, theirs], identity: 'me' }
const soon = () => lab.elapse(lab.isReal ? 1.5 : 60)

test('a pause in one namespace does not affect the other namespaces', async () => {
  for (const namespace of [mine, theirs]) await peering.create({ namespace })
  const { kopf, calls } = createOperator()
  const has = (call: string) => calls.includes(call)
  await lab.start(kopf, names)
  await create('a', mine)
  await create('b', theirs)
  await lab.until(() => ['a', 'b'].every((name) => has(`daemon ${name} begins`) && has(`timer ${name}`)))
  await peering.sign('forger', strong, { namespace: theirs })
  await lab.untilLogged(`(namespace "${theirs}")`)
  await lab.until(() => has('daemon b ends: operator-pausing'))
  const before = calls.length
  await create('a2', mine)
  await create('b2', theirs)
  await create('c', undefined)
  await lab.until(() => has('create a2') && has('event c'))
  await soon()
  const since = calls.slice(before)
  expect(since.filter((call) => / b2?( |$)/.test(call))).toEqual([])
  expect(since).toContain('timer a')
  expect(has('daemon a ends: operator-pausing')).toBe(false)
  await peering.sign('forger', null, { namespace: theirs })
  await lab.until(() => has('create b2') && calls.lastIndexOf('daemon b begins') > before)
  expect(calls.filter((call) => call === 'create a' || call === 'create b')).toHaveLength(2)
})

test('an operator that starts while one namespace is paused is ready and handles the others', async () => {
  for (const namespace of [mine, theirs]) await peering.create({ namespace })
  await peering.sign('forger', strong, { namespace: theirs })
  const { kopf, calls } = createOperator()
  // Handlers wait until the objects of all namespaces that are not paused are indexed.
  const index = kopf.index(lab.widgets, { id: 'names' }, ({ name }) => [[null, name]])
  await create('a', mine)
  await create('b', theirs)
  await lab.start(kopf, names)
  await lab.until(() => calls.includes('create a'))
  await soon()
  expect(calls).not.toContain('create b')
  expect([...index.get(null)]).toEqual(['a'])
  await peering.sign('forger', null, { namespace: theirs })
  await lab.until(() => calls.includes('create b'))
  expect([...index.get(null)].sort()).toEqual(['a', 'b'])
})

test('an operator whose namespaces are all paused is paused completely', async () => {
  for (const namespace of [mine, theirs]) await peering.create({ namespace })
  for (const namespace of [mine, theirs]) await peering.sign('them', strong, { namespace })
  const { kopf, calls } = createOperator()
  await lab.start(kopf, names)
  await create('a', mine)
  await create('c', undefined)
  await soon()
  expect(calls).toEqual([])
  await peering.sign('them', null, { namespace: mine })
  await lab.until(() => calls.includes('create a') && calls.includes('event c'))
})

test('a cluster-wide peering pauses all namespaces', async () => {
  await peering.create({ clusterwide: true })
  const { kopf, calls } = createOperator()
  kopf.on.startup(({ settings }) => {
    settings.peering.clusterwide = true
  })
  await lab.start(kopf, names)
  await peering.sign('them', strong, { clusterwide: true })
  await peering.untilPaused()
  for (const [name, namespace] of [
    ['a', mine],
    ['b', theirs],
    ['c', undefined],
  ] as const)
    await create(name, namespace)
  await soon()
  expect(calls).toEqual([])
})
