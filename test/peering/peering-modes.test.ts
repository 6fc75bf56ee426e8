/** Automatic, mandatory and standalone peering, while the CRDs and the objects appear and disappear. */
import { Operator, type RunOptions } from 'kopf'
import { expect, test } from 'vitest'
import { useCleanLab } from '../support/handled.ts'
import { PeeringLab, peeringRequests } from './peering-lab.ts'

const lab = useCleanLab()
const peering = new PeeringLab(lab)

function createOperator(): Operator {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, ({ name, logger }) => logger.info(`seen: ${name}`))
  return kopf
}

const hasSeen = (name: string) => lab.logs.some((line) => line.includes(`seen: ${name}`))
const soon = () => lab.elapse(lab.isReal ? 0.5 : 600)
const strong = { priority: 100, lifetime: 3600 }

async function withDefinitions(work: () => Promise<void>): Promise<void> {
  await peering.install('kopf.dev')
  try {
    await work()
  } finally {
    await lab.stopAll()
    for (const name of [peering.name, 'default']) {
      await peering.delete({ name })
      await peering.delete({ name, clusterwide: true })
    }
    await peering.uninstall('kopf.dev')
  }
}

test('an operator without peering CRDs runs and requests no peerings', async () => {
  const recording = lab.record()
  await lab.start(createOperator(), { transport: recording })
  await lab.create('one')
  await lab.until(() => hasSeen('one'))
  await soon()
  expect(peeringRequests(recording)).toEqual([])
})

test('an operator with a mandatory peering waits for its CRD and for the object', async () => {
  const kopf = createOperator()
  // A missing resource makes the operator repeat the discovery.
  kopf.on.event([lab.group, 'v1', 'gadgets'], () => {})
  await lab.start(kopf, { peering: peering.name, identity: 'me' })
  await lab.untilLogged(
    `The peering "${peering.name}" is mandatory, and the cluster does not serve kopfpeerings.kopf.dev`,
  )
  await lab.create('one')
  await soon()
  expect(hasSeen('one')).toBe(false)
  await withDefinitions(async () => {
    await lab.untilLogged(`There is no peering "${peering.name}" in '${lab.namespace}' (kopfpeerings.v1.kopf.dev)`)
    expect(lab.logs.find((line) => line.startsWith('There is no peering'))).toContain(
      `echo '{"apiVersion":"kopf.dev/v1","kind":"KopfPeering","metadata":{"name":"${peering.name}","namespace":"${lab.namespace}"}}' | kubectl apply -f -`,
    )
    expect(hasSeen('one')).toBe(false)
    await peering.create()
    await lab.untilLogged('Resuming operations after the pause.')
    await lab.until(() => hasSeen('one'))
    await peering.delete()
    await lab.until(() => lab.logs.filter((line) => line.startsWith('There is no peering')).length === 2)
    await lab.create('two')
    await soon()
    expect(hasSeen('two')).toBe(false)
    await peering.create()
    await lab.until(() => hasSeen('two'))
  })
})

test('a mandatory peering can be configured in a startup handler', async () => {
  const kopf = createOperator()
  kopf.on.startup(({ settings }) => {
    settings.peering.mandatory = true
    settings.peering.name = peering.name
  })
  await withDefinitions(async () => {
    await lab.start(kopf, { identity: 'me' })
    await lab.untilLogged('There is no peering')
    await lab.create('one')
    await soon()
    expect(hasSeen('one')).toBe(false)
  })
})

test('a peering named "default" is used automatically once it exists', async () => {
  await withDefinitions(async () => {
    await lab.start(createOperator(), { identity: 'me' })
    await lab.create('one')
    await lab.until(() => hasSeen('one'))
    await peering.create({ name: 'default' })
    await peering.untilSigned('me', { name: 'default' })
    await peering.sign('them', strong, { name: 'default' })
    await lab.untilLogged('Pausing operations in favour of')
    await lab.create('two')
    await soon()
    expect(hasSeen('two')).toBe(false)
    await peering.delete({ name: 'default' })
    await lab.until(() => hasSeen('two'))
  })
})

test.each<[string, RunOptions]>([
  ['standalone mode', { standalone: true }],
  ['another peering', { peering: 'other' }],
])('an operator with %s does not pause for others', async (_, options) => {
  await withDefinitions(async () => {
    await peering.create({ name: 'default' })
    await peering.sign('them', strong, { name: 'default' })
    if (options.peering !== undefined) await peering.create({ name: options.peering })
    const recording = lab.record()
    await lab.start(createOperator(), { ...options, identity: 'me', transport: recording })
    await lab.create('one')
    await lab.until(() => hasSeen('one'))
    if (options.standalone) expect(peeringRequests(recording)).toEqual([])
    expect(Object.keys(await peering.records({ name: 'default' }))).toEqual(['them'])
  })
})

test('namespaced operators and cluster-wide operators ignore each other unless they are configured otherwise', async () => {
  await withDefinitions(async () => {
    await peering.create({ name: 'default', clusterwide: true })
    await peering.sign('them', strong, { name: 'default', clusterwide: true })
    await lab.start(createOperator(), { identity: 'me' })
    await lab.create('one')
    await lab.until(() => hasSeen('one'))
    await lab.stopAll()
    const kopf = createOperator()
    kopf.on.startup(({ settings }) => {
      settings.peering.clusterwide = true
    })
    await lab.start(kopf, { identity: 'me' })
    await lab.untilLogged('Pausing operations in favour of')
    await soon()
    expect(hasSeen('one')).toBe(false)
  })
})

test('each namespace has its own peering, including a namespace that is created later', async () => {
  await withDefinitions(async () => {
    const other = `${lab.namespace}-other`
    const place = { namespace: other, name: 'default' }
    await peering.create({ name: 'default' })
    await lab.start(createOperator(), { identity: 'me', namespaces: [`${lab.namespace}*`] })
    await peering.untilSigned('me', { name: 'default' })
    await lab.call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: other } })
    await peering.create(place)
    await peering.untilSigned('me', place)
    await peering.sign('them', strong, place)
    await lab.untilLogged('Pausing operations in favour of')
    await lab.create('one')
    await lab.until(() => hasSeen('one'))
    await peering.sign('them', strong, { name: 'default' })
    await lab.until(() => lab.logs.filter((line) => line.startsWith('Pausing operations in favour of')).length === 2)
    await lab.create('two')
    await soon()
    expect(hasSeen('two')).toBe(false)
    await peering.sign('them', null, { name: 'default' })
    await lab.until(() => hasSeen('two'))
    await lab.call('DELETE', `/api/v1/namespaces/${other}`)
  })
})

test('a pause ends when the CRD of the peering is deleted', async () => {
  const kopf = createOperator()
  kopf.on.event([lab.group, 'v1', 'gadgets'], () => {})
  await peering.install('zalando.org')
  const place = { group: 'zalando.org', name: 'default' } as const
  await peering.create(place)
  await peering.sign('them', strong, place)
  await lab.start(kopf, { identity: 'me' })
  await lab.create('one')
  await soon()
  expect(hasSeen('one')).toBe(false)
  await peering.uninstall('zalando.org')
  await lab.until(() => hasSeen('one'))
})
