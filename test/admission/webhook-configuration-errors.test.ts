/** Webhook configurations whose writes the API server refuses: forbidden, temporarily failing, or invalid. */
import { ConnectionInfo, type Operator, type RunningOperator } from 'kopf'
import { expect, inject, test } from 'vitest'
import type { Transport } from '../../src/util/transport.ts'
import { settle } from '../support/handled.ts'
import { useLab } from '../support/lab.ts'
import { type Recorded, refusal } from '../support/recording.ts'
import { Desk, forbid, type Loose, registration, tellings, useManaged } from './managed-webhooks.ts'

const lab = useLab()
const managed = useManaged(lab)
const url = 'https://127.0.0.1:1/'

const reviewed = (desk: Desk = new Desk()): Operator => {
  const kopf = managed.operator(desk)
  kopf.on.validate(lab.widgets, { id: 'check' }, () => {})
  return kopf
}

const isLook = ({ method, path }: Recorded) => method === 'GET' && path.startsWith(registration)
const isWrite = ({ method, path }: Recorded) => method !== 'GET' && path.startsWith(registration)

/** The error that ends the operator, before or after it is ready. */
async function failure(starting: Promise<RunningOperator>): Promise<Loose> {
  return starting.then(
    () => undefined,
    (error: unknown) => error,
  )
}

test('webhook configurations are written blindly without the permission to read them, like in Kopf', async () => {
  const wire = lab.record()
  forbid(wire, isLook)
  const desk = new Desk()
  const kopf = reviewed(desk)
  const running = await lab.start(kopf, { transport: wire })
  expect(await managed.ids()).toEqual(['check'])
  expect(lab.logs.join('\n')).toContain(
    `Changes of the validating webhook ${managed.name} by other clients will not be reverted: ` +
      'the operator may not list and watch validatingwebhookconfigurations.',
  )
  desk.move({ url: `${url}moved` })
  await lab.until(async () => (await managed.webhooks())?.[0].clientConfig.url === `${url}moved/check`)
  await lab.stop(running)
  expect(await managed.webhooks()).toEqual([])
  const patch = `PATCH validatingwebhookconfigurations/${managed.name}`
  const isOfInterest = (one: string) => one.includes('validating')
  expect(tellings(wire).filter(isOfInterest)).toEqual(['POST validatingwebhookconfigurations', patch, patch])
  expect(await managed.get('mutating')).toBeUndefined()
})

test('webhook configurations of an earlier run are overwritten without the permission to read them', async () => {
  const before = managed.operator(new Desk({ url: 'https://127.0.0.1:2/' }))
  before.on.validate(lab.widgets, { id: 'old', persistent: true }, () => {})
  before.on.mutate(lab.widgets, { id: 'old-too', persistent: true }, () => {})
  await lab.stop(await lab.start(before))
  const wire = lab.record()
  forbid(wire, isLook)
  await lab.start(reviewed(), { transport: wire })
  expect(await managed.ids()).toEqual(['check'])
  expect(await managed.ids('mutating')).toEqual([])
})

test('webhook configurations are watched once the permission is granted', async () => {
  const wire = lab.record()
  let isMuted = true
  forbid(wire, (request) => isMuted && isLook(request))
  await lab.start(reviewed(), { transport: wire })
  isMuted = false
  await lab.until(() => wire.watches('validatingwebhookconfigurations').length > 1)
  await managed.change({ webhooks: [] })
  await lab.until(async () => (await managed.ids())?.length === 1)
})

test('an operator that may not write webhook configurations fails with the missing RBAC rule', async () => {
  const wire = lab.record()
  forbid(wire, isWrite)
  const error = await failure(lab.start(reviewed(), { transport: wire }))
  expect(error).toMatchObject({ name: 'KopfError', code: 'KOPF_FORBIDDEN' })
  expect(error.message).toContain(`Cannot configure the validating webhook ${managed.name}: `)
  expect(error.message).toContain(
    'apiGroups: ["admissionregistration.k8s.io"], resources: ["validatingwebhookconfigurations"], ' +
      'verbs: ["create", "patch", "list", "watch"]',
  )
})

test('no permission is needed for a webhook configuration without webhooks', async () => {
  const wire = lab.record()
  forbid(wire, ({ path }) => path.includes('mutatingwebhookconfigurations'))
  await lab.start(reviewed(), { transport: wire })
  expect(await managed.ids()).toEqual(['check'])
})

test('a permission that is revoked later is logged, and the write is retried', async () => {
  const wire = lab.record()
  await lab.start(reviewed(), { transport: wire })
  forbid(wire, isWrite)
  await managed.change({ webhooks: [] })
  await lab.untilLogged(`Cannot configure the validating webhook ${managed.name}: `)
  wire.meddle = (_, send) => send()
  await lab.until(async () => (await managed.ids())?.length === 1)
})

test('a webhook configuration that the API server rejects fails the start with the message of the server', async () => {
  const error = await failure(lab.start(reviewed(new Desk({ url: 'http://insecure.example.com/' }))))
  expect(error).toMatchObject({ name: 'KopfError', code: 'KOPF_WEBHOOK_CONFIGURATION' })
  expect(error.message).toMatch(
    /webhooks\[0\]\.clientConfig\.url: Invalid value: .*'https' is the only allowed URL scheme/,
  )
  expect(await managed.get()).toBeUndefined()
})

test('a webhook configuration that the API server rejects later does not stop the operator', async () => {
  const desk = new Desk({ url })
  const running = await lab.start(reviewed(desk))
  desk.move({ url: 'http://insecure.example.com/' })
  await lab.untilLogged("'https' is the only allowed URL scheme")
  desk.move({ url: `${url}better` })
  await lab.until(async () => (await managed.webhooks())?.[0].clientConfig.url === `${url}better/check`)
  expect(running.stopping.aborted).toBe(false)
})

test.each<[string, () => Promise<never> | ReturnType<typeof refusal>]>([
  ['is overloaded', () => refusal(503)],
  ['fails', () => refusal(500)],
  ['cannot be reached', () => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))],
])('a webhook configuration is written once an API server that %s for a while recovers', async (_, answer) => {
  const wire = lab.record()
  let left = 3
  wire.meddle = async (request, send) => {
    if (!request.path.startsWith(registration) || left === 0) return send()
    left -= 1
    return answer()
  }
  await lab.start(reviewed(), { transport: wire })
  expect(await managed.ids()).toEqual(['check'])
  expect(left).toBe(0)
})

test.skipIf(lab.isReal)('an API server that fails for an hour gets few writes, and it is logged', async () => {
  const wire = lab.record()
  let isDown = true
  wire.meddle = async (request, send) => (isDown && isWrite(request) ? refusal(500) : send())
  const starting = lab.start(reviewed(), { transport: wire })
  await lab.elapse(3000)
  expect(tellings(wire).length).toBeGreaterThan(20)
  expect(tellings(wire).length).toBeLessThan(80)
  expect(lab.logs.filter((line) => line.includes('Somebody else'))).toEqual([])
  expect(lab.logs.filter((line) => line.includes('; it is tried again')).length).toBeGreaterThan(20)
  isDown = false
  await starting
  expect(await managed.ids()).toEqual(['check'])
})

test('a write of a webhook configuration whose response was lost succeeds on retry', async () => {
  const wire = lab.record()
  let isLost = false
  wire.meddle = async (request, send) => {
    const response = await send()
    if (isLost || !isWrite(request)) return response
    isLost = true
    throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
  }
  await lab.start(reviewed(), { transport: wire })
  expect(await managed.ids()).toEqual(['check'])
  expect(isLost).toBe(true)
  await settle(lab)
  expect(await managed.ids()).toEqual(['check'])
})

test('a configuration whose creation was never answered is emptied when the operator ends', async () => {
  const wire = lab.record()
  let isSent = false
  // The watch does not show the configuration either.
  wire.meddle = async (request, send) => (isLook(request) && isSent ? refusal(503) : send())
  const transport: Transport = {
    async send(request, signal) {
      const response = await wire.send(request, signal)
      if (request.method !== 'POST' || !request.path.startsWith(registration)) return response
      isSent = true
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    },
  }
  const controller = new AbortController()
  const starting = failure(lab.start(reviewed(), { transport, signal: controller.signal }))
  await lab.until(async () => isSent && (await managed.ids())?.length === 1)
  controller.abort()
  await starting
  await lab.stopAll()
  expect(await managed.webhooks()).toEqual([])
})

test('an operator that cannot empty its webhook configuration ends and logs how to do it by hand', async () => {
  const wire = lab.record()
  const kopf = reviewed()
  kopf.settings.networking.errorBackoffs = [0.1]
  const running = await lab.start(kopf, { transport: wire })
  wire.meddle = async (request, send) => (isWrite(request) ? refusal(500) : send())
  await lab.stop(running)
  expect(lab.logs.join('\n')).toMatch(
    new RegExp(
      'Cannot remove the validating webhooks: .* 500.*; requests that they review may be rejected until the operator runs again; ' +
        `to prevent that, run: kubectl delete validatingwebhookconfigurations ${managed.name}`,
    ),
  )
})

test.skipIf(lab.isReal)('an API server that no longer responds does not keep the operator from ending', async () => {
  const wire = lab.record()
  const desk = new Desk()
  const running = await lab.start(reviewed(desk), { transport: wire })
  wire.meddle = async (request, send) => (isWrite(request) ? refusal(503) : send())
  const beforeMs = lab.clock.now()
  await lab.stop(running)
  expect(lab.clock.now() - beforeMs).toBeLessThan(15_000)
  expect(desk.events).toEqual(['opened', 'closed'])
})

test.each(['x', 'no-dots', 'Upper.kopf.dev', 'kopf..dev', 'kopf.dev.', 'a_b.kopf.dev', `${'a.'.repeat(100)}dev`, ''])(
  'the managed name %j is refused',
  (name) => {
    const kopf = managed.operator()
    expect(() => (kopf.settings.admission.managed = name)).toThrow(
      expect.objectContaining({ code: 'KOPF_SETTINGS', message: expect.stringContaining('a name with a dot in it') }),
    )
  },
)

test.runIf(lab.isReal)('the rules of a service account decide whether configurations are written', async () => {
  const { url: server, caPem } = inject('realCluster')
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const account = `lab-${managed.name.split('.')[0]}`
  await lab.call('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: account } })
  const { body } = await lab.call('POST', `/api/v1/namespaces/default/serviceaccounts/${account}/token`, { spec: {} })
  const connection = new ConnectionInfo({ server, caData: caPem, token: (body as Loose).status.token })
  const widgets = { apiGroups: [lab.group], resources: ['widgets'], verbs: ['list', 'watch', 'patch'] }
  const group = { apiGroups: ['admissionregistration.k8s.io'] }
  const role = (...rules: object[]) => ({ metadata: { name: account }, rules: [widgets, ...rules] })
  await lab.call('POST', `${rbac}/clusterroles`, role())
  await lab.call('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: account },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: account },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: 'default' }],
  })
  const grant = (...rules: object[]) => lab.call('PUT', `${rbac}/clusterroles/${account}`, role(...rules))
  const untilStarted = async () => {
    // The API server needs a moment to load new roles.
    let running: RunningOperator | undefined
    await lab.until(async () => {
      running = await lab.start(reviewed(), { connection }).catch(() => undefined)
      return running !== undefined
    })
    return running!
  }

  const refused = await failure(lab.start(reviewed(), { connection }))
  expect(refused.message).toContain('resources: ["validatingwebhookconfigurations"], verbs: ["create", "patch"')

  // The rules that the manual of Kopf asks for.
  const resources = ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']
  await grant({ ...group, resources, verbs: ['create', 'patch'] })
  const blind = await untilStarted()
  expect(lab.logs.join('\n')).toContain('by other clients will not be reverted')
  expect(await managed.ids()).toEqual(['check'])
  await lab.stop(blind)
  expect(await managed.webhooks()).toEqual([])

  // The narrowest rules: one configuration by its name, except that `create` cannot be limited by name.
  const one = { ...group, resources: resources.slice(0, 1), resourceNames: [managed.name] }
  await grant({ ...one, verbs: ['patch', 'list', 'watch'] }, { ...group, resources, verbs: ['create'] })
  await lab.until(async () => {
    const running = await untilStarted()
    const isBlind = lab.logs.some((line) => line.includes(`the validating webhook ${managed.name} by others`))
    if (isBlind) await lab.stop(running)
    return !isBlind
  })
  await managed.change({ webhooks: [] })
  await lab.until(async () => (await managed.ids())?.length === 1)
  await lab.stopAll()
  expect(await managed.webhooks()).toEqual([])
  for (const kind of ['clusterroles', 'clusterrolebindings']) await lab.call('DELETE', `${rbac}/${kind}/${account}`)
})
