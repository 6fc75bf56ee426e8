/** Missing permissions: found at the start, logged with the rules to add, and recovered from when they are granted. */
import { Operator } from 'kopf'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missingPermission } from '../support/deployment.ts'
import { useLab } from '../support/lab.ts'
import { refusal } from '../support/recording.ts'
import { RestrictedUser, rule, watching } from '../support/restricted-user.ts'

const lab = useLab()
const { group } = lab
const definitions = rule('apiextensions.k8s.io', ['customresourcedefinitions'], watching)
const events = rule('', ['events'], ['create'])
const widgets = rule(group, ['widgets'], ['list', 'watch', 'patch'])
const reviews = '/apis/authorization.k8s.io/v1/'

let subjects: RestrictedUser[] = []

beforeAll(() => lab.install({ kind: 'Gadget' }))
afterAll(async () => {
  for (const subject of subjects) await subject.close()
  subjects = []
})

function subject(name: string): RestrictedUser {
  const made = new RestrictedUser(lab, name)
  subjects.push(made)
  return made
}

function told(): string[] {
  return lab.logs.filter((line) => line.includes('lacks permissions'))
}

describe('permissions of a namespaced operator', () => {
  test('an operator with all permissions logs nothing about them, and needs one request to check', async () => {
    const operator = subject('content')
    await operator.grant({ cluster: [definitions], namespaces: { [lab.namespace]: [widgets, events] } })
    const transport = await operator.connect()
    const seen: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, ({ name }) => void seen.push(name))
    await lab.start(kopf, { transport })
    await lab.create('content')
    await lab.until(() => seen.includes('content'))
    expect(told()).toEqual([])
    expect(transport.requests.filter(({ path }) => path.startsWith(reviews))).toHaveLength(1)
  })

  test('missing permissions are logged once, with the rules to add', async () => {
    const operator = subject('wanting')
    await operator.grant({ namespaces: { [lab.namespace]: [rule(group, ['widgets'], watching)] } })
    const kopf = new Operator()
    kopf.on.create(lab.widgets, () => {})
    await lab.start(kopf, { transport: await operator.connect() })
    await lab.until(() => told().length > 0)
    expect(told()).toEqual([
      'The operator lacks permissions. Add the following to a ClusterRole of the operator: rules: [' +
        '{apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["list", "watch"]}]. ' +
        `Add the following to a Role of the operator in "${lab.namespace}": rules: [` +
        `{apiGroups: ["${group}"], resources: ["widgets"], verbs: ["patch"]}, ` +
        '{apiGroups: [""], resources: ["events"], verbs: ["create"]}]',
    ])
    // Tests of printed permissions search logs for this pattern, and would not notice another wording.
    expect(told()[0]).toMatch(missingPermission)
  })

  test('an operator that only watches needs no patch permission, and without posting no permission for events', async () => {
    const operator = subject('modest')
    await operator.grant({
      cluster: [definitions],
      namespaces: { [lab.namespace]: [rule(group, ['widgets'], watching)] },
    })
    const seen: string[] = []
    const kopf = new Operator({ settings: { posting: { enabled: false } } })
    kopf.on.event(lab.widgets, ({ name }) => void seen.push(name))
    await lab.start(kopf, { transport: await operator.connect() })
    await lab.create('looked-at')
    await lab.until(() => seen.includes('looked-at'))
    expect(told()).toEqual([])
  })
})

test('missing permissions for children and watched resources of reconcilers are logged', async () => {
  const operator = subject('parent')
  await operator.grant({ cluster: [definitions], namespaces: { [lab.namespace]: [widgets, events] } })
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { owns: ['configmaps', 'deployments.apps'], watches: [['secrets', () => []]] }, () => {})
  void lab.start(kopf, { transport: await operator.connect() }).catch(() => {})
  await lab.until(() => told().length > 0)
  expect(told()).toEqual([
    `The operator lacks permissions. Add the following to a Role of the operator in "${lab.namespace}": rules: [` +
      '{apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch", "create", "patch", "delete"]}, ' +
      '{apiGroups: ["apps"], resources: ["deployments"], verbs: ["list", "watch", "create", "patch", "delete"]}, ' +
      '{apiGroups: [""], resources: ["secrets"], verbs: ["list", "watch"]}]',
  ])
})

test('a Role in one namespace is not enough for a cluster-wide operator', async () => {
  const operator = subject('local')
  await operator.grant({
    cluster: [definitions, rule(group, ['gadgets'], ['list', 'watch', 'patch'])],
    namespaces: { [lab.namespace]: [widgets, events] },
  })
  const kopf = new Operator()
  kopf.on.create(lab.widgets, () => {})
  kopf.on.create([group, 'v1', 'gadgets'], () => {})
  const transport = await operator.connect()
  void lab.start(kopf, { transport, clusterwide: true }).catch(() => {})
  await lab.until(() => told().length > 0)
  expect(told()[0]).toContain(
    'Add the following to a ClusterRole of the operator: rules: [' +
      `{apiGroups: ["${group}"], resources: ["widgets"], verbs: ["list", "watch", "patch"]}, ` +
      '{apiGroups: [""], resources: ["events"], verbs: ["create"]}]',
  )
  expect(transport.requests.filter(({ path }) => path.startsWith(reviews))).toHaveLength(1)
})

test('permissions that an incomplete rules review does not list are checked one by one', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, () => {})
  const transport = lab.record()
  transport.meddle = async (request, send) => {
    if (!request.path.endsWith('/selfsubjectrulesreviews')) return send()
    const response = await send()
    const status = { resourceRules: [], incomplete: true }
    const body = (async function* () {
      yield Buffer.from(JSON.stringify({ ...request.body, status }))
    })()
    return { ...response, body }
  }
  await lab.start(kopf, { transport })
  await lab.elapse(1)
  expect(told()).toEqual([])
  const asked = transport.requests.filter(({ path }) => path.endsWith('/selfsubjectaccessreviews'))
  expect(asked.map(({ body }) => (body!['spec'] as { resourceAttributes: object }).resourceAttributes)).toEqual([
    ...watching.map((verb) => ({ group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', verb })),
    ...['list', 'watch', 'patch'].map((verb) => ({ group, resource: 'widgets', verb, namespace: lab.namespace })),
    { group: '', resource: 'events', verb: 'create', namespace: lab.namespace },
  ])
})

test('an operator that may not review its permissions starts without a warning', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, ({ name }) => void seen.push(name))
  const transport = lab.record()
  transport.meddle = (request, send) => (request.path.startsWith(reviews) ? Promise.resolve(refusal(403)) : send())
  await lab.start(kopf, { transport })
  await lab.create('unasked')
  await lab.until(() => seen.includes('unasked'))
  expect(told()).toEqual([])
})

test('an operator that may not list any resource fails at the start', async () => {
  const operator = subject('blind')
  await operator.grant({ cluster: [definitions] })
  const kopf = new Operator()
  kopf.on.create(lab.widgets, () => {})
  const error = await lab.start(kopf, { transport: await operator.connect() }).catch((failure: unknown) => failure)
  expect(error).toMatchObject({ code: 'KOPF_FORBIDDEN' })
  expect(String(error)).toContain(
    `rules: [{apiGroups: ["${group}"], resources: ["widgets"], verbs: ["list", "watch", "patch"]}]`,
  )
})

test('a resource without list permission at the start does not block the others, and is served once it is granted', async () => {
  const operator = subject('partial')
  const gadgets = rule(group, ['gadgets'], ['list', 'watch', 'patch'])
  await operator.grant({ cluster: [definitions], namespaces: { [lab.namespace]: [widgets, events] } })
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, ({ name }) => void seen.push(`widget ${name}`))
  kopf.on.create([group, 'v1', 'gadgets'], ({ name }) => void seen.push(`gadget ${name}`))
  const starting = lab.start(kopf, { transport: await operator.connect() })
  starting.catch(() => {})
  await lab.create('served')
  await lab.call('POST', lab.path('', 'gadgets'), {
    apiVersion: `${group}/v1`,
    kind: 'Gadget',
    metadata: { name: 'late' },
  })
  await lab.until(() => seen.includes('widget served'))
  await lab.until(() => lab.logs.some((line) => /watch-stream of gadgets.* has failed/.test(line)))
  expect(seen).not.toContain('gadget late')
  await operator.grant({ cluster: [definitions], namespaces: { [lab.namespace]: [widgets, gadgets, events] } })
  await lab.until(() => seen.includes('gadget late'))
  await starting
})

test('a permission that is revoked affects only its resource, and no change is lost once it is granted again', async () => {
  const operator = subject('revoked')
  const rights = { cluster: [definitions], namespaces: { [lab.namespace]: [widgets, events] } }
  await operator.grant(rights)
  const seen: string[] = []
  // The API server authorizes a watch when it starts, not while it runs.
  const kopf = new Operator({ settings: { watching: { serverTimeout: 1 } } })
  kopf.on.create(lab.widgets, ({ name }) => void seen.push(name))
  await lab.start(kopf, { transport: await operator.connect() })
  await lab.create('before')
  await lab.until(() => seen.includes('before'))
  await operator.grant({ ...rights, namespaces: { [lab.namespace]: [events] } })
  await lab.until(() => lab.logs.some((line) => /watch-stream of widgets.* has failed.*403/.test(line)))
  await lab.create('meanwhile')
  await operator.grant(rights)
  await lab.until(() => seen.includes('meanwhile'))
  expect(seen.filter((name) => name === 'before' || name === 'meanwhile')).toEqual(['before', 'meanwhile'])
})

test('new CRDs are found without permission to watch CRDs, by less and less frequent scans', async () => {
  const operator = subject('scanning')
  await operator.grant({ namespaces: { [lab.namespace]: [rule(group, ['*'], ['*']), events] } })
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create([group, 'v1', 'comets'], ({ name }) => void seen.push(name))
  const transport = await operator.connect()
  await lab.start(kopf, { transport })
  await lab.untilLogged('Not enough permissions to watch for resources')
  await lab.install({ kind: 'Comet' })
  await lab.call('POST', lab.path('', 'comets'), {
    apiVersion: `${group}/v1`,
    kind: 'Comet',
    metadata: { name: 'halley' },
  })
  await lab.until(() => seen.includes('halley'))
  expect(lab.logs.filter((line) => line.includes('Not enough permissions to watch for resources'))).toHaveLength(1)
})
