/** Managed webhook configurations: their content, when they are written, and their state after the operator has ended. */
import { ABSENT, Operator, PRESENT } from 'kopf'
import { expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import { useLab } from '../support/lab.ts'
import { caBundle, Desk, tellings, useDefinitions, useManaged } from './managed-webhooks.ts'

const lab = useLab()
const managed = useManaged(lab)
const definition = useDefinitions(lab)
const url = 'https://127.0.0.1:1/hooks'

const reviewed = (server?: Desk): Operator => {
  const kopf = managed.operator(server)
  kopf.on.validate(lab.widgets, { id: 'check' }, () => {})
  return kopf
}

test('the webhook configurations have the same content as Kopf writes', async () => {
  const kopf = managed.operator(new Desk({ url, caBundle }))
  kopf.on.validate(lab.widgets, { id: 'check_it/spec.field' }, () => {})
  kopf.on.validate(
    lab.widgets,
    {
      id: 'some',
      operations: ['CREATE', 'UPDATE'],
      subresource: 'status',
      labels: { there: PRESENT, gone: ABSENT, is: 'so', maybe: () => true },
      sideEffects: true,
      ignoreFailures: true,
    },
    () => {},
  )
  kopf.on.mutate(lab.widgets, { id: 'all', operations: ['DELETE'], subresource: '*' }, () => {})
  await lab.start(kopf)
  const rule = { apiGroups: [lab.group], apiVersions: ['v1'], scope: '*' }
  const common = {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    timeoutSeconds: 30,
    admissionReviewVersions: ['v1', 'v1beta1'],
  }
  expect(await managed.webhooks()).toEqual([
    {
      ...common,
      name: `check-it.spec.field.${managed.name}`,
      rules: [{ ...rule, resources: ['widgets'], operations: ['*'] }],
      sideEffects: 'None',
      failurePolicy: 'Fail',
      objectSelector: {},
      clientConfig: { url: `${url}/check_it/spec.field`, caBundle },
    },
    {
      ...common,
      name: `some.${managed.name}`,
      rules: [{ ...rule, resources: ['widgets/status'], operations: ['CREATE', 'UPDATE'] }],
      sideEffects: 'NoneOnDryRun',
      failurePolicy: 'Ignore',
      objectSelector: {
        matchExpressions: [
          { key: 'there', operator: 'Exists' },
          { key: 'gone', operator: 'DoesNotExist' },
          { key: 'is', operator: 'In', values: ['so'] },
        ],
      },
      clientConfig: { url: `${url}/some`, caBundle },
    },
  ])
  expect(await managed.webhooks('mutating')).toEqual([
    {
      ...common,
      name: `all.${managed.name}`,
      rules: [{ ...rule, resources: ['widgets/*'], operations: ['DELETE'] }],
      sideEffects: 'None',
      failurePolicy: 'Fail',
      objectSelector: {},
      reinvocationPolicy: 'Never',
      clientConfig: { url: `${url}/all`, caBundle },
    },
  ])
})

const longest = 'x'.repeat(300)

test('the webhook names for arbitrary handler ids are valid and unique', async () => {
  const ids = ['camelCase', 'camelcase', 'prüfung', '検査', '🙂', '-', '__', 'a//b', 'UPPER/Lower.mixed', 'with space']
  ids.push(longest, `${longest}y`, 'a/'.repeat(150), `${'b'.repeat(62)}.c`, '%2F', 'a+b', '...')
  for (const desk of [new Desk(), new Desk({ service: { namespace: 'default', name: 'hooks', path: '/root' } })]) {
    const kopf = managed.operator(desk)
    for (const id of ids) kopf.on.validate(lab.widgets, { id }, () => {})
    const running = await lab.start(kopf)
    const webhooks = (await managed.webhooks())!
    expect(webhooks).toHaveLength(ids.length)
    expect(new Set(webhooks.map(({ name }) => name)).size).toBe(ids.length)
    const places = webhooks.map(({ clientConfig }) => clientConfig.url ?? clientConfig.service.path)
    expect(new Set(places).size).toBe(ids.length)
    await lab.stop(running)
  }
})

test('a function registered for several resources gets one webhook per resource', async () => {
  const kopf = managed.operator()
  const check = () => {}
  kopf.on.validate(lab.widgets, check)
  kopf.on.validate('configmaps', { labels: { 'kopf.dev/never': 'here' } }, check)
  await lab.start(kopf)
  expect(await managed.ids()).toEqual(['check', 'check-2'])
})

test('a webhook of a service has a port and a path', async () => {
  const kopf = reviewed(new Desk({ service: { namespace: 'default', name: 'hooks' }, caBundle }))
  await lab.start(kopf)
  const [entry] = (await managed.webhooks())!
  expect(entry.clientConfig).toEqual({
    service: { namespace: 'default', name: 'hooks', port: 443, path: '/check' },
    caBundle,
  })
})

test('a webhook configuration is created by one request, and only if it has webhooks', async () => {
  const wire = lab.record()
  await lab.start(reviewed(), { transport: wire })
  await settle(lab)
  expect(tellings(wire)).toEqual(['POST validatingwebhookconfigurations'])
  expect(await managed.get('mutating')).toBeUndefined()
})

test('the webhook configurations exist when the operator is ready, and are emptied when it ends', async () => {
  const running = await lab.start(reviewed())
  const before = await managed.get()
  expect(await managed.ids()).toEqual(['check'])
  await lab.stop(running)
  expect(await managed.webhooks()).toEqual([])
  expect((await managed.get())?.metadata.uid).toBe(before?.metadata.uid)
})

test('an operator that restarts fills its emptied configuration with one write and empties it with one write', async () => {
  const kopf = reviewed()
  await lab.stop(await lab.start(kopf))
  const wire = lab.record()
  const running = await lab.start(kopf, { transport: wire })
  await lab.stop(running)
  const patch = `PATCH validatingwebhookconfigurations/${managed.name}`
  expect(tellings(wire)).toEqual([patch, patch])
})

test('persistent webhooks stay after the end, and an operator with only persistent ones writes nothing', async () => {
  const kopf = managed.operator()
  kopf.on.validate(lab.widgets, { id: 'stays', persistent: true }, () => {})
  kopf.on.mutate(lab.widgets, { id: 'stays-too', persistent: true }, () => {})
  await lab.stop(await lab.start(kopf))
  expect(await managed.ids()).toEqual(['stays'])
  expect(await managed.ids('mutating')).toEqual(['stays-too'])
  const wire = lab.record()
  const running = await lab.start(kopf, { transport: wire })
  await settle(lab)
  await lab.stop(running)
  expect(tellings(wire)).toEqual([])
})

test('only persistent webhooks stay in the configuration after the operator has ended', async () => {
  const kopf = reviewed()
  kopf.on.validate(lab.widgets, { id: 'stays', persistent: true }, () => {})
  const running = await lab.start(kopf)
  expect(await managed.ids()).toEqual(['check', 'stays'])
  await lab.stop(running)
  expect(await managed.ids()).toEqual(['stays'])
})

test('webhooks of handlers that the next version of the operator lacks are removed at its start', async () => {
  const before = managed.operator()
  before.on.validate(lab.widgets, { id: 'old', persistent: true }, () => {})
  before.on.mutate(lab.widgets, { id: 'old-too', persistent: true }, () => {})
  await lab.stop(await lab.start(before))
  await lab.start(reviewed())
  expect(await managed.ids()).toEqual(['check'])
  expect(await managed.ids('mutating')).toEqual([])
  await lab.stopAll()
})

test('persistent webhooks are removed at the start of a version of the operator without admission handlers', async () => {
  const before = managed.operator()
  before.on.validate(lab.widgets, { id: 'old', persistent: true }, () => {})
  await lab.stop(await lab.start(before))
  const after = managed.operator()
  after.on.event(lab.widgets, () => {})
  await lab.start(after)
  expect(await managed.ids()).toEqual([])
})

test('webhook configurations are not written without a managed name, and the log shows the entries to create', async () => {
  const wire = lab.record()
  const kopf = new Operator({ settings: { admission: { server: new Desk() } } })
  kopf.on.validate(lab.widgets, { id: 'check' }, () => {})
  await lab.start(kopf, { transport: wire })
  expect(tellings(wire)).toEqual([])
  expect(wire.requests.filter(({ path }) => path.includes('admissionregistration'))).toEqual([])
  expect(lab.logs.join('\n')).toContain(
    `Webhook of the validate handler 'check' for widgets.v1.${lab.group}: ${url}/check`,
  )
})

test('changes of the webhook server in quick succession are written once', async () => {
  const desk = new Desk()
  const wire = lab.record()
  await lab.start(reviewed(desk), { transport: wire })
  const before = tellings(wire).length
  for (const part of ['a', 'b', 'c']) {
    desk.move({ url: `${url}/${part}` })
    await new Promise((resolve) => setImmediate(resolve))
  }
  await lab.until(async () => (await managed.webhooks())?.[0].clientConfig.url === `${url}/c/check`)
  await settle(lab)
  expect(tellings(wire).slice(before)).toEqual([`PATCH validatingwebhookconfigurations/${managed.name}`])
})

test('a renewed CA bundle causes one write per configuration, and an unchanged one none', async () => {
  const desk = new Desk({ url, caBundle })
  const kopf = reviewed(desk)
  kopf.on.mutate(lab.widgets, { id: 'change' }, () => {})
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  const before = tellings(wire).length
  desk.move({ url, caBundle })
  await settle(lab)
  expect(tellings(wire)).toHaveLength(before)
  const both = Buffer.from(Buffer.from(caBundle, 'base64').toString().repeat(2)).toString('base64')
  desk.move({ url, caBundle: both })
  const bundles = async () => [(await managed.webhooks())![0], (await managed.webhooks('mutating'))![0]]
  await lab.until(async () => (await bundles()).every(({ clientConfig }) => clientConfig.caBundle === both))
  expect(tellings(wire).slice(before).sort()).toEqual([
    `PATCH mutatingwebhookconfigurations/${managed.name}`,
    `PATCH validatingwebhookconfigurations/${managed.name}`,
  ])
})

test('a resource whose CRD is created later gets its webhook once it is served', async () => {
  definition('gadgets')
  const kopf = reviewed()
  kopf.on.validate([lab.group, 'v1', 'gadgets'], { id: 'later' }, () => {})
  await lab.start(kopf)
  expect(await managed.ids()).toEqual(['check'])
  await lab.install({ kind: 'Gadget' })
  await lab.until(async () => (await managed.ids())?.length === 2)
  expect(await managed.ids()).toEqual(['check', 'later'])
})

test('an operator takes over the webhook configurations of a killed one', async () => {
  const first = new Desk({ url: 'https://127.0.0.1:2/' })
  const wire = lab.record()
  const doomed = reviewed(first)
  doomed.settings.networking.errorBackoffs = []
  const killed = await lab.start(doomed, { transport: wire })
  // From now on all its requests fail, so that it cannot empty its configuration.
  wire.meddle = async () => {
    throw new Error('killed')
  }
  const next = lab.record()
  await lab.start(reviewed(), { transport: next })
  expect((await managed.webhooks())?.map(({ clientConfig }) => clientConfig.url)).toEqual([`${url}/check`])
  expect(tellings(next)).toEqual([`PATCH validatingwebhookconfigurations/${managed.name}`])
  await lab.stop(killed)
})

test('the operator warns of persistent webhooks that could reject its own Pods', async () => {
  const kopf = managed.operator()
  const rare = { operations: ['CONNECT'], persistent: true } as const
  kopf.on.validate('pods', { ...rare, id: 'trap' }, () => {})
  kopf.on.validate('pods', { ...rare, id: 'tolerant', ignoreFailures: true }, () => {})
  kopf.on.validate('pods', { ...rare, id: 'selective', labels: { app: 'web' } }, () => {})
  kopf.on.validate('pods', { operations: ['CONNECT'], id: 'passing' }, () => {})
  kopf.on.validate(lab.widgets, { ...rare, id: 'harmless' }, () => {})
  await lab.start(kopf)
  const warnings = lab.logs.filter((line) => line.includes('is persistent'))
  expect(warnings).toEqual([
    `Webhook 'trap' is persistent: while the operator does not run, none of these objects can be created, not even those that it needs to ` +
      'start; exclude them with "labels", or set "ignoreFailures" (pods.v1)',
  ])
})
