/** The roles and workloads of `kopf manifests`, planned in this process from handlers, settings and options. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineResource, EVERYTHING, Operator, resource } from 'kopf'
import { startServer } from 'kopf/server'
import { WebhookServer, WebhookServiceServer } from 'kopf/webhooks'
import { describe, expect, test } from 'vitest'
import { readAllowedRules } from '../../src/cli/deployment/allow-option.ts'
import { type Draft, type DraftOptions, draft } from '../../src/cli/deployment/draft.ts'
import { discoverForPlan } from '../../src/cli/deployment/known-resources.ts'
import { render } from '../../src/cli/deployment/render.ts'
import { createProgram } from '../../src/cli/program.ts'
import { toRules } from '../../src/kube/rbac-rules.ts'
import { parseYaml } from '../../src/util/yaml.ts'
import type { Tree } from '../support/answers.ts'
import { crd, crdsPath } from '../support/crds.ts'
import { ask } from '../support/in-process.ts'
import { Folder } from './run-support.ts'

const schema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
} as never

const Widget = defineResource({ group: 'example.com', version: 'v1', kind: 'Widget', status: schema })
const Gadget = defineResource({ group: 'example.com', version: 'v1', kind: 'Gadget' })
const Zone = defineResource({ group: 'example.com', version: 'v1', kind: 'Zone', scope: 'Cluster' })
const nothing = () => {}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number
  readonly containers: ReadonlyArray<{
    readonly env: ReadonlyArray<{ readonly name: string; readonly value?: string }>
  }>
}

interface PlanOptions extends Partial<DraftOptions> {
  readonly grant?: readonly string[]
}

async function plan(operator: Operator, { grant = [], ...options }: PlanOptions = {}): Promise<Draft> {
  const command = createProgram().commands.find((one) => one.name() === 'manifests')!
  return draft(operator as Operator, {
    installNamespace: 'ops',
    folder: '/somewhere/My Operator',
    scope: { clusterwide: true },
    peering: { standalone: true },
    resources: await discoverForPlan(operator, {}),
    grants: readAllowedRules(command, grant),
    calls: { clear: [], unclear: [], unread: [] },
    ...options,
  })
}

/** The rules as texts, such as `cluster: list,watch pods` or `ops: create events`. */
async function rightsOf(operator: Operator, options?: PlanOptions): Promise<string[]> {
  const { roles } = (await plan(operator, options)).plan
  return roles.flatMap(({ namespace = 'cluster', needs }) =>
    toRules(needs).map(({ apiGroups, resources, resourceNames = [], verbs }) => {
      const what = resources.map((one) => (apiGroups[0] === '' ? one : `${one}.${apiGroups}`)).join('+')
      return [`${namespace}:`, verbs.join(','), what, ...resourceNames].join(' ')
    }),
  )
}

async function printed(operator: Operator, options: PlanOptions = {}): Promise<Record<string, Tree>> {
  const { plan: planned } = await plan(operator, options)
  const args = { installNamespace: 'ops', ...options }
  const objects = parseYaml(await render(operator, planned, args)) as Array<Tree & { kind: string }>
  return Object.fromEntries(objects.map((object) => [object.kind, object]))
}

function operatorOf(register: (kopf: Operator) => void, settings = {}): Operator {
  const kopf = new Operator({ name: 'mine', settings })
  register(kopf)
  return kopf
}

const events = 'create,patch events'
const definitions = 'cluster: list,watch customresourcedefinitions.apiextensions.k8s.io'
const inNamespaces = (...namespaces: string[]): PlanOptions => ({ scope: { namespaces } })

describe('roles', () => {
  test.each<[string, (kopf: Operator) => void, string[]]>([
    [
      'on.event needs list and watch',
      (kopf) => kopf.on.event('pods', nothing),
      ['cluster: list,watch pods', `cluster: ${events}`],
    ],
    [
      'an index needs list and watch',
      (kopf) => kopf.index('pods', () => null),
      ['cluster: list,watch pods', `cluster: ${events}`],
    ],
    [
      'on.create needs patch, also for the status subresource',
      (kopf) => kopf.on.create(Widget, nothing),
      [
        'cluster: get,list,watch,patch widgets.example.com',
        'cluster: patch widgets/status.example.com',
        `cluster: ${events}`,
        definitions,
        'ops: get,update secrets mine-steps',
      ],
    ],
    [
      'a resource without a status subresource gets no rule for it',
      (kopf) => kopf.timer(Gadget, { interval: 1 }, nothing),
      ['cluster: get,list,watch,patch gadgets.example.com', `cluster: ${events}`, definitions],
    ],
    [
      'a resource with two handlers gets one rule',
      (kopf) => {
        kopf.on.event('pods', nothing)
        kopf.daemon('pods', nothing)
      },
      ['cluster: get,list,watch,patch pods', 'cluster: patch pods/status', `cluster: ${events}`],
    ],
    [
      'reconcile needs to write the owned kinds, and to watch the watched kinds',
      (kopf) =>
        kopf.reconcile(
          Gadget,
          { owns: ['configmaps', resource('apps/v1', 'deployments')], watches: [['secrets', () => []]] },
          nothing,
        ),
      [
        'cluster: get,list,watch,patch gadgets.example.com',
        'cluster: update gadgets/finalizers.example.com',
        'cluster: list,watch,create,patch,delete configmaps',
        'cluster: list,watch,create,patch,delete deployments.apps',
        'cluster: list,watch secrets',
        `cluster: ${events}`,
        definitions,
      ],
    ],
  ])('kopf manifests prints the least rules: %s', async (_what, register, rights) => {
    expect(await rightsOf(operatorOf(register))).toEqual(rights)
  })

  test('the rules are in Roles of the named namespaces, and in a ClusterRole only for cluster-scoped resources', async () => {
    const kopf = operatorOf((one) => {
      one.on.event(Gadget, nothing)
      one.on.event(Zone, nothing)
    })
    expect(await rightsOf(kopf, inNamespaces('team-a', 'team-b'))).toEqual([
      'cluster: list,watch zones.example.com',
      definitions,
      'team-a: list,watch gadgets.example.com',
      `team-a: ${events}`,
      'team-b: list,watch gadgets.example.com',
      `team-b: ${events}`,
      // Events about cluster-scoped objects.
      `ops: ${events}`,
    ])
  })

  test('the rules are in a ClusterRole if namespaces are given as patterns', async () => {
    const kopf = operatorOf((one) => one.on.event('pods', nothing))
    expect(await rightsOf(kopf, inNamespaces('team-*', 'ops'))).toEqual([
      'cluster: list,watch pods',
      `cluster: ${events}`,
      'cluster: list,watch namespaces',
    ])
  })

  test.each<[string, object, string[]]>([
    ['with posting disabled', { posting: { enabled: false } }, ['team-a: list,watch gadgets.example.com', definitions]],
    [
      'with scanning disabled',
      { scanning: { disabled: true } },
      ['team-a: list,watch gadgets.example.com', `team-a: ${events}`],
    ],
  ])('the rules of an operator %s are fewer', async (_what, settings, rights) => {
    const kopf = operatorOf((one) => one.on.event(Gadget, nothing), settings)
    expect((await rightsOf(kopf, inNamespaces('team-a'))).toSorted()).toEqual(rights.toSorted())
  })

  test('the rules for the peering name the peering, cluster-wide or in each namespace', async () => {
    const kopf = operatorOf((one) => one.on.event('pods', nothing), { peering: { name: 'main' } })
    const peering = { peering: {} }
    expect((await rightsOf(kopf, peering)).at(-1)).toBe(
      'cluster: list,watch,patch clusterkopfpeerings.kopf.dev,zalando.org main',
    )
    expect((await rightsOf(kopf, { ...inNamespaces('team-a'), peering: { peering: 'other' } })).at(-1)).toBe(
      'team-a: list,watch,patch kopfpeerings.kopf.dev,zalando.org other',
    )
  })

  test('the rules for the Lease name the Lease and are in its namespace', async () => {
    const pods = (one: Operator) => one.on.event('pods', nothing)
    expect((await rightsOf(operatorOf(pods, { election: { enabled: true } }))).slice(-2)).toEqual([
      'ops: get,list,watch,update leases.coordination.k8s.io mine',
      'ops: create leases.coordination.k8s.io',
    ])
    const elsewhere = { enabled: true, name: 'theirs', namespace: 'leases' }
    expect((await rightsOf(operatorOf(pods, { election: elsewhere }))).slice(-2)).toEqual([
      'leases: get,list,watch,update leases.coordination.k8s.io theirs',
      'leases: create leases.coordination.k8s.io',
    ])
  })

  test('the rules for webhook configurations and their Secret name those objects', async () => {
    const server = new WebhookServiceServer({ service: 'hooks' })
    const admission = { server, managed: 'mine.example.com' }
    expect(await rightsOf(operatorOf((one) => one.on.validate('pods', nothing), { admission }))).toEqual([
      `cluster: ${events}`,
      'cluster: list,watch,patch validatingwebhookconfigurations.admissionregistration.k8s.io+' +
        'mutatingwebhookconfigurations.admissionregistration.k8s.io mine.example.com',
      'cluster: create validatingwebhookconfigurations.admissionregistration.k8s.io',
      'ops: get,watch,update secrets hooks-certificates',
      'ops: create secrets',
    ])
    const Other = defineResource({ group: 'example.com', version: 'v2', kind: 'Gadget' })
    const converting = operatorOf((one) => one.on.convert(Other, { from: Gadget, to: Other }, () => ({})), {
      admission,
    })
    expect(await rightsOf(converting)).toContain(
      'cluster: patch customresourcedefinitions.apiextensions.k8s.io gadgets.example.com',
    )
  })

  test('the rule for the Secret of step keys exists only if handlers can have signed steps', async () => {
    const steps = 'ops: get,update secrets'
    const of = async (register: (kopf: Operator) => void, settings = {}) =>
      (await rightsOf(operatorOf(register, settings))).filter((one) => one.startsWith(steps))
    const create = (kopf: Operator) => kopf.on.create(Widget, nothing)
    expect(await of(create)).toEqual([`${steps} mine-steps`])
    expect(await of((kopf) => kopf.reconcile(Widget, { cleanup: true }, nothing))).toEqual([`${steps} mine-steps`])
    expect(await of(create, { steps: { secret: 'other' } })).toEqual([`${steps} other`])
    for (const settings of [{ steps: { signing: 'off' } }, { steps: { keys: ['x'.repeat(32)] } }]) {
      expect(await of(create, settings)).toEqual([])
      expect(Object.keys(await printed(operatorOf(create, settings)))).not.toContain('Secret')
    }
    expect(await of((kopf) => kopf.reconcile(Widget, nothing))).toEqual([])
    expect(await of((kopf) => kopf.timer(Widget, { interval: 1 }, nothing))).toEqual([])
    const { Secret } = await printed(operatorOf(create))
    expect(Secret).toMatchObject({ metadata: { name: 'mine-steps', namespace: 'ops' }, type: 'Opaque' })
    // The Secret has no data, so that applying it again does not remove the keys.
    expect(Secret).not.toHaveProperty('data')
    expect(Secret).not.toHaveProperty('stringData')
    const unnamed = new Operator({})
    create(unnamed)
    expect(await rightsOf(unnamed)).toContain(`${steps} kopf-steps`)
  })

  test('each printed rule has a comment with its reason', async () => {
    const kopf = operatorOf((one) => one.on.create(Widget, nothing))
    const { plan: planned } = await plan(kopf)
    expect(await render(kopf, planned, { installNamespace: 'ops' })).toContain(`rules:
# Handled: watched and patched.
- apiGroups: [example.com]
  resources: [widgets]
  verbs: [get, list, watch, patch]
# The status, which handlers write.
- apiGroups: [example.com]
  resources: [widgets/status]
  verbs: [patch]
`)
  })

  test('the rules of --grant are added to the roles of their scopes', async () => {
    const kopf = operatorOf((one) => one.on.event('pods', nothing))
    const grant = ['get nodes', 'patch deployments.apps/scale', 'get,update secrets a,b', '* gadgets']
    const resources = await discoverForPlan(
      operatorOf((one) => one.on.event(Gadget, nothing)),
      {},
    )
    expect(await rightsOf(kopf, { ...inNamespaces('team-a'), grant, resources })).toEqual([
      'cluster: get nodes',
      'team-a: list,watch pods',
      `team-a: ${events}`,
      'team-a: patch deployments/scale.apps',
      'team-a: get,update secrets a b',
      'team-a: * gadgets.example.com',
    ])
  })
})

describe('workloads', () => {
  test('the page "Health checks" shows the ports and probes of the container', async () => {
    const { Deployment } = await printed(operatorOf((kopf) => kopf.on.event('pods', nothing)))
    const page = readFileSync(join('docs', 'operate', 'health-checks.md'), 'utf8')
    const [yaml] = /(?<=^```yaml\n)ports:.*?(?=^```)/ms.exec(page)!
    const shown = parseYaml(yaml)
    const { spec } = Deployment as unknown as {
      spec: { template: { spec: { containers: Record<string, unknown>[] } } }
    }
    const { ports, startupProbe, livenessProbe, readinessProbe } = spec.template.spec.containers[0]!
    expect(shown).toEqual([{ ports, startupProbe, livenessProbe, readinessProbe }])
  })

  const pods = (one: Operator) => one.on.event('pods', nothing)
  const specOf = (deployment: Tree) => deployment['spec'] as Tree & { template: { spec: Tree } }

  test('the Deployment has one replica and the strategy Recreate unless leader election is enabled', async () => {
    const alone = await printed(operatorOf(pods))
    expect(specOf(alone['Deployment']!)).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
    expect(alone).not.toHaveProperty('PodDisruptionBudget')
    const elected = operatorOf(pods, { election: { enabled: true } })
    const both = await printed(elected)
    expect(specOf(both['Deployment']!)).toMatchObject({ replicas: 2, strategy: { type: 'RollingUpdate' } })
    expect(both['PodDisruptionBudget']).toMatchObject({ spec: { maxUnavailable: 1 } })
    expect(specOf((await printed(elected, { replicas: 5 }))['Deployment']!)['replicas']).toBe(5)
  })

  test('the grace period of the Pods covers the timeouts of handlers, daemons and webhooks', async () => {
    const graceOf = async (operator: Operator) => (await plan(operator)).plan.graceSeconds
    expect(await graceOf(operatorOf(pods))).toBe(30)
    expect(await graceOf(operatorOf(pods, { queueing: { exitTimeout: '5m' } }))).toBe(315)
    const daemon = operatorOf((one) =>
      one.daemon('pods', { cancellationBackoff: 5, cancellationTimeout: '1m' }, nothing),
    )
    expect(await graceOf(daemon)).toBe(95)
  })

  test('the container knows the grace period of its Pod', async () => {
    const { Deployment } = await printed(operatorOf(pods, { queueing: { exitTimeout: '5m' } }))
    const { terminationGracePeriodSeconds, containers } = specOf(Deployment!).template.spec as unknown as PodSpec
    expect(terminationGracePeriodSeconds).toBe(315)
    expect(containers[0]!.env).toContainEqual({ name: 'KOPF_RUN_GRACE_PERIOD', value: '315' })
  })

  test('the arguments of the container are the options of kopf run', async () => {
    const options = {
      ...inNamespaces('a', 'b-*'),
      peering: { peering: 'main', priority: 5 },
    }
    const { args } = (await plan(operatorOf(pods), options)).plan
    expect(args).toEqual([
      ...['--namespace=a', '--namespace=b-*', '--peering=main', '--priority=5'],
      ...['--liveness=http://0.0.0.0:8080/healthz', '--log-format=json'],
    ])
  })

  test('an operator with webhooks gets a Service for the port of its webhook server', async () => {
    const server = new WebhookServiceServer({ service: 'hooks', port: 1234, servicePort: 8443 })
    const { Service, Deployment } = await printed(
      operatorOf((one) => one.on.validate('pods', nothing), { admission: { server } }),
    )
    expect(Service).toMatchObject({
      metadata: { name: 'hooks', namespace: 'ops' },
      spec: { selector: { 'app.kubernetes.io/name': 'mine' }, ports: [{ port: 8443, targetPort: 'webhooks' }] },
    })
    const [container] = specOf(Deployment!).template.spec['containers'] as Array<{ ports: unknown[] }>
    expect(container!.ports).toContainEqual({ name: 'webhooks', containerPort: 1234 })
  })

  test('the NetworkPolicy allows ingress only for the port of webhooks', async () => {
    const { NetworkPolicy: alone, Deployment } = await printed(operatorOf(pods))
    const { selector } = specOf(Deployment!) as unknown as { selector: object }
    expect(alone).toMatchObject({ apiVersion: 'networking.k8s.io/v1', metadata: { name: 'mine', namespace: 'ops' } })
    expect(alone!['spec']).toEqual({ podSelector: selector, policyTypes: ['Ingress'], ingress: [] })
    const server = new WebhookServiceServer({ service: 'hooks', port: 1234 })
    const reviewing = operatorOf((kopf) => kopf.on.validate('pods', nothing), { admission: { server } })
    expect((await printed(reviewing))['NetworkPolicy']!['spec']).toMatchObject({
      ingress: [{ ports: [{ protocol: 'TCP', port: 1234 }] }],
    })
  })

  test('an unknown port of the webhook server yields no NetworkPolicy but a remark', async () => {
    const server = new WebhookServer({ port: 9443 })
    const reviewing = operatorOf((kopf) => kopf.on.validate('pods', nothing), { admission: { server } })
    expect(await printed(reviewing)).not.toHaveProperty('NetworkPolicy')
    expect((await plan(reviewing)).remarks.join('\n')).toContain('there is no NetworkPolicy')
  })

  test('the Deployment is named after the operator, the folder, or the --name option', async () => {
    const nameOf = async (operator: Operator, options?: PlanOptions) => (await plan(operator, options)).plan.name
    const unnamed = new Operator()
    pods(unnamed)
    expect(await nameOf(operatorOf(pods))).toBe('mine')
    expect(await nameOf(unnamed)).toBe('my-operator')
    expect(await nameOf(unnamed, { name: 'ours' })).toBe('ours')
  })

  test('the CRDs and a namespace for restricted Pods are printed on request', async () => {
    const kopf = operatorOf((one) => one.on.event(Gadget, nothing))
    expect(Object.keys(await printed(kopf, { createNamespace: true, withCrds: true }))).toEqual([
      'CustomResourceDefinition',
      'Namespace',
      'ServiceAccount',
      'ClusterRole',
      'ClusterRoleBinding',
      'NetworkPolicy',
      'Deployment',
    ])
  })
})

describe('refusals and remarks', () => {
  const refusal = (operator: Operator, options?: PlanOptions) => plan(operator, options).then(() => '', String)

  test('kopf manifests refuses a resource of which only the name is known', async () => {
    const kopf = operatorOf((one) => one.on.create('kopfexamples', nothing))
    expect(await refusal(kopf)).toBe(
      'KopfError: Cannot print manifests: only the name of kopfexamples is known; give the CRD with --crd <file>, ' +
        'or a cluster that serves it with --context <name>, or create the resource with defineResource',
    )
    expect(
      await refusal(operatorOf((one) => one.reconcile(Gadget, { owns: ['certificates.cert-manager.io'] }, nothing))),
    ).toContain('only the name of certificates.cert-manager.io is known')
    expect(
      await refusal(
        operatorOf((one) => one.on.event('pods', nothing)),
        { grant: ['get kopfexamples'] },
      ),
    ).toContain('Cannot grant "get kopfexamples": no resource of that name is known')
  })

  test('kopf manifests takes the CRD of a named resource from a file or from a cluster', async () => {
    const folder = new Folder()
    const definition = crd({ group: 'kopf.dev', kind: 'KopfExample' })
    await using server = await startServer()
    folder.write({ 'crd.yaml': JSON.stringify(definition), 'admin.kubeconfig': server.kubeconfig })
    expect(await ask(server.api, 'POST', crdsPath, { body: definition })).toMatchObject({ status: 201 })
    const kopf = operatorOf((one) => {
      one.on.event('kopfexamples', nothing)
      one.on.event(Gadget, nothing)
    })
    for (const knowledge of [
      { crd: [join(folder.path, 'crd.yaml')] },
      { kubeconfig: join(folder.path, 'admin.kubeconfig') },
    ]) {
      const resources = await discoverForPlan(kopf, knowledge)
      expect((await rightsOf(kopf, { ...inNamespaces('team-a'), resources })).slice(1)).toEqual([
        'team-a: list,watch kopfexamples.kopf.dev',
        'team-a: list,watch gadgets.example.com',
        `team-a: ${events}`,
      ])
    }
    folder.remove()
  })

  test('kopf manifests refuses an ambiguous resource name', async () => {
    const One = defineResource({ group: 'one.example.com', version: 'v1', kind: 'Gadget' })
    const Two = defineResource({ group: 'two.example.com', version: 'v1', kind: 'Gadget' })
    const kopf = operatorOf((one) => {
      one.on.event(One, nothing)
      one.on.event(Two, nothing)
      one.on.create('gadgets', nothing)
    })
    expect(await refusal(kopf)).toContain('gadgets may be gadgets.v1.one.example.com or gadgets.v1.two.example.com')
  })

  const validating = (server: object | null) =>
    operatorOf((one) => one.on.validate('pods', nothing), { admission: { server } })

  test('kopf manifests refuses webhooks without a server', async () => {
    expect(await refusal(validating(null))).toContain(
      '`settings.admission.server` is not set when the operator is loaded',
    )
  })

  test('kopf manifests refuses webhooks with a server in another namespace', async () => {
    expect(await refusal(validating(new WebhookServiceServer({ service: 'x', namespace: 'theirs' })))).toContain(
      'install it there with --install-namespace theirs',
    )
  })

  test('kopf manifests refuses replicas without leader election', async () => {
    const kopf = operatorOf((one) => one.on.event('pods', nothing))
    expect(await refusal(kopf, { replicas: 2 })).toContain('2 replicas would all handle everything')
  })

  test('kopf manifests refuses names that Kubernetes does not accept', async () => {
    const kopf = operatorOf((one) => one.on.event('pods', nothing))
    expect(await refusal(kopf, { name: 'No_Name' })).toContain('the name "No_Name" is invalid (given by --name)')
    expect(await refusal(new Operator({ name: 'My Operator' }))).toContain('choose another with --name')
  })

  test('kopf manifests remarks that the role for owned Secrets covers all Secrets of its scope', async () => {
    const kopf = operatorOf((one) => one.reconcile('pods', { owns: ['secrets'] }, nothing))
    const { remarks } = await plan(kopf, { image: 'x', grant: ['get nodes'] })
    expect(remarks).toEqual([expect.stringContaining('the role allows to list and change all Secrets in its scope')])
  })

  test('kopf manifests remarks on settings that are only known at run time', async () => {
    const kopf = operatorOf(
      (one) => {
        one.on.startup(nothing)
        one.on.event(EVERYTHING, nothing)
        one.on.validate('pods', nothing)
      },
      { admission: { server: new WebhookServer({ addr: '127.0.0.1' }) }, peering: { mandatory: true } },
    )
    const told = async (options?: PlanOptions) => (await plan(kopf, options)).remarks.map((one) => one.split(/[:,]/)[0])
    expect(await told({ peering: {} })).toEqual([
      'The image is "mine',
      'Startup handlers were not called',
      'Handlers match resources by pattern',
      'The webhook server is not a WebhookServiceServer',
      'The peering "default" is mandatory',
    ])
    const quiet = operatorOf((one) => one.on.event('pods', nothing))
    expect((await plan(quiet, { image: 'x', grant: ['get nodes'] })).remarks).toEqual([])
  })
})
