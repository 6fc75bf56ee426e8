/**
 * Deploys an operator with the output of `kopf manifests`, but runs the program of `kopf build` as a local process instead of a pod: with
 * the arguments of its Deployment, as its ServiceAccount, in a cluster with RBAC. Works on both servers, and records the requests of the operator.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { expect } from 'vitest'
import { parseYaml } from '../../src/util/yaml.ts'
import { Folder, KopfCommand } from '../cli/run-support.ts'
import type { Answer, Tree } from './answers.ts'
import type { Api } from './api.ts'
import { eventually, expectStatus } from './expectations.ts'

/** A log line about a missing permission: the warning at the start, or an error of the API server. */
export const missingPermission: RegExp = /lacks permissions|[Ff]orbidden/

/** A request of the operator that the server has received. */
export interface ObservedRequest {
  readonly verb: string
  /** The plural, with the subresource after a slash. */
  readonly resource: string
  readonly namespace: string
  readonly status: number
}

export interface DeploymentTarget {
  readonly api: Api
  readonly url: string
  readonly caPem: string
  /** The requests of a user since the start of the server. */
  requestsOf(user: string): readonly ObservedRequest[]
  /** Applies manifests like a user; resolves with the warnings. */
  apply(text: string, folder: Folder): Promise<readonly string[]>
}

/** An object printed by `kopf manifests`. */
interface Printed extends Tree {
  kind: string
  metadata: { name: string; namespace?: string }
}

interface Rule {
  apiGroups: string[]
  resources: string[]
  resourceNames?: string[]
  verbs: string[]
}

export class Deployment {
  readonly folder: Folder
  readonly objects: readonly Printed[]
  readonly #target: DeploymentTarget
  readonly #replicas: KopfCommand[] = []

  private constructor(target: DeploymentTarget, folder: Folder, text: string) {
    this.folder = folder
    this.#target = target
    this.objects = parseYaml(text) as Printed[]
  }

  /** Prints and applies the manifests, and builds the operator; does not start it. */
  static async install(target: DeploymentTarget, source: string, args: readonly string[]): Promise<Deployment> {
    const folder = new Folder()
    folder.write({ 'operator.ts': source })
    const printing = new KopfCommand(folder, ['manifests', 'operator.ts', '--with-crds', ...args])
    expect([await printing.exit, printing.stderr.match(/kopf: .*/)]).toEqual([0, null])
    const building = new KopfCommand(folder, ['build', 'operator.ts'])
    expect([await building.exit, building.stderr]).toEqual([0, ''])
    expect(await target.apply(printing.stdout, folder)).toEqual([])
    return new Deployment(target, folder, printing.stdout)
  }

  one(kind: string): Printed {
    return this.objects.find((object) => object.kind === kind)!
  }

  /** There is no pod network, so the Service becomes an ExternalName of this machine. */
  async rerouteService(port: number): Promise<void> {
    const { name, namespace } = this.one('Service').metadata
    const path = `/api/v1/namespaces/${namespace}/services`
    expectStatus(await this.#target.api.delete(`${path}/${name}`), 200)
    const spec = { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] }
    expectStatus(await this.#target.api.post(path, { metadata: { name }, spec }), 201)
  }

  get user(): string {
    const { name, namespace } = this.one('ServiceAccount').metadata
    return `system:serviceaccount:${namespace}:${name}`
  }

  /** Starts the operator with the arguments of its container, but with a free port and a kubeconfig. */
  async run(identity: string = 'pod-1'): Promise<KopfCommand> {
    const { name, namespace } = this.one('ServiceAccount').metadata
    this.folder.write({ 'operator.kubeconfig': await this.#createKubeconfig(namespace!, name) })
    const pod = (this.one('Deployment')['spec'] as { template: { spec: { containers: Array<{ args: string[] }> } } })
      .template
    const own = ['--liveness=http://127.0.0.1:0/healthz', '--kubeconfig=operator.kubeconfig']
    const { path, temporary } = this.folder
    const program = { path, temporary, command: ['dist/operator.js'] }
    const command = new KopfCommand(program, [...pod.spec.containers[0]!.args, ...own], { POD_ID: identity })
    this.#replicas.push(command)
    return command
  }

  /** A kubeconfig with the token and the namespace of the service account, like the credentials of a pod. */
  async #createKubeconfig(namespace: string, name: string): Promise<string> {
    const { api, url, caPem } = this.#target
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
    const { token } = expectStatus(await api.post(path, { spec: {} }), 201).status
    return JSON.stringify({
      clusters: [
        { name, cluster: { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') } },
      ],
      users: [{ name, user: { token } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace } }],
      'current-context': name,
    })
  }

  get log(): string {
    return this.#replicas.map(({ stderr }) => stderr).join('')
  }

  /** The forbidden requests of the operator. */
  get refused(): ObservedRequest[] {
    return this.#target.requestsOf(this.user).filter(({ status }) => status === 403)
  }

  /** The permissions that the operator has and did not use: `update secrets in "ops"`. */
  get unused(): string[] {
    const uses = this.#target.requestsOf(this.user)
    const grants = this.objects.filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role').flatMap(toGrants)
    const isUsed = ({ verb, resource, namespace }: Grant) =>
      uses.some(
        (use) => use.verb === verb && use.resource === resource && (namespace ?? use.namespace) === use.namespace,
      )
    return [...new Set(grants.filter((grant) => !isUsed(grant)).map(describe))].toSorted()
  }
}

/**
 * The permissions that an operator with all handler types does not use unless something fails: to read an object or the Lease after a
 * conflict or a change of the leader, and to update the Secret when certificates are renewed. Two others are not requests but are
 * checked with one: `create` for server-side apply, and `update` of finalizers for blockOwnerDeletion.
 */
export function unusedWithoutFailures({
  served,
  home,
}: {
  served: readonly (string | undefined)[]
  home: string
}): string[] {
  const grants = served.flatMap((namespace) => [
    ...[
      ['get', 'widgets'],
      ['get', 'gadgets'],
      ['create', 'configmaps'],
      ['update', 'gadgets/finalizers'],
    ].map(([verb, resource]) => describe({ verb: verb!, resource: resource!, namespace })),
    'get zones',
    `get leases in "${home}"`,
    `update secrets in "${home}"`,
  ])
  return [...new Set(grants)].toSorted()
}

interface Grant {
  readonly verb: string
  readonly resource: string
  readonly namespace: string | undefined
}

function toGrants(role: Printed): Grant[] {
  return (role['rules'] as Rule[]).flatMap(({ resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ verb, resource, namespace: role.metadata.namespace }))),
  )
}

function describe({ verb, resource, namespace }: Grant): string {
  return namespace === undefined ? `${verb} ${resource}` : `${verb} ${resource} in "${namespace}"`
}

export async function findPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Installs the peering CRDs of the package. */
export async function installPeerings(api: Api): Promise<void> {
  for (const definition of parseYaml(readFileSync('peering.yaml', 'utf8'))) {
    expectStatus(await api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition), 201)
  }
}

/** Creates a peering object in each namespace; without namespaces a cluster-wide one. */
export async function createPeering(api: Api, name: string, namespaces?: readonly string[]): Promise<void> {
  const kind = namespaces === undefined ? 'ClusterKopfPeering' : 'KopfPeering'
  const peering = { apiVersion: 'kopf.dev/v1', kind, metadata: { name } }
  const places = namespaces?.map((one) => `namespaces/${one}/kopfpeerings`) ?? ['clusterkopfpeerings']
  // A new CRD is served after a delay.
  for (const place of places)
    await eventually(async () => expectStatus(await api.post(`/apis/kopf.dev/v1/${place}`, peering), 201))
}

/** Runs one step, and fails after it in the pod "pod-1"; other pods continue. */
const operatorWithSteps = `import { defineResource, Operator, TemporaryError } from 'kopf'
const Bucket = defineResource({ group: 'steps.example.com', version: 'v1', kind: 'Bucket' })
const kopf = new Operator({ name: 'stepper' })
kopf.on.create(Bucket, { id: 'fn' }, async ({ name, step, logger }) => {
  const bucket = await step('bucket', () => {
    logger.info('making the bucket of ' + name)
    return 'bucket-' + process.env.POD_ID
  })
  await step('schedule', () => {})
  if (process.env.POD_ID === 'pod-1') throw new TemporaryError('not here', { delay: 1 })
  logger.info('going on with ' + bucket)
})
export default kopf
`

/** Kills one process after its step, and expects that another process continues with the stored result of the step. */
export async function expectStepHandOver(target: DeploymentTarget, namespace: string): Promise<void> {
  const deployed = await Deployment.install(target, operatorWithSteps, [
    '-n',
    namespace,
    '--install-namespace',
    namespace,
    '--standalone',
  ])
  const { name, namespace: home } = deployed.one('Secret').metadata
  const secret = `/api/v1/namespaces/${home}/secrets/${name}`
  expect(expectStatus(await target.api.get(secret), 200)['data']).toBe(undefined)
  const first = await deployed.run('pod-1')
  const path = `/apis/steps.example.com/v1/namespaces/${namespace}/buckets`
  const body = { apiVersion: 'steps.example.com/v1', kind: 'Bucket', metadata: { name: 'orders' } }
  await eventually(async () => expectStatus(await target.api.post(path, body), 201))
  await first.until(/not here/)
  first.send('SIGKILL')
  await first.exit
  const { data } = expectStatus(await target.api.get(secret), 200) as unknown as { data: Record<string, string> }
  expect(Object.keys(data)).toEqual(['key-1'])
  const second = await deployed.run('pod-2')
  await second.until(/going on with bucket-pod-1/)
  second.send('SIGTERM')
  expect(await second.exit).toBe(0)
  expect(deployed.log.match(/making the bucket/g)).toHaveLength(1)
  expect(deployed.refused).toEqual([])
  expect(deployed.log).not.toMatch(missingPermission)
  expect(deployed.log).not.toContain('is not used')
  expect(deployed.log).not.toContain(data['key-1'])
  deployed.folder.remove()
}

/** An operator with every handler type and every feature that needs a permission. */
export function operatorWithAllHandlers(group: string, port: number): string {
  return `import { AdmissionError, defineResource, Operator, resource } from 'kopf'
import { WebhookServiceServer } from 'kopf/webhooks'
const schema = (json: object) => ({
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }), jsonSchema: { input: () => json, output: () => json } },
}) as never
const open = { type: 'object', additionalProperties: true }
const Widget = defineResource({ group: '${group}', version: 'v1', kind: 'Widget', status: schema(open) })
const Gadget = defineResource({ group: '${group}', version: 'v1', kind: 'Gadget' })
const Zone = defineResource({ group: '${group}', version: 'v1', kind: 'Zone', scope: 'Cluster' })
const Gizmo1 = defineResource({ group: '${group}', version: 'v1', kind: 'Gizmo' })
const Gizmo2 = defineResource({ group: '${group}', version: 'v2', kind: 'Gizmo' })
const ConfigMap = resource<{ data?: Record<string, string> }>('v1', 'configmaps')
const kopf = new Operator({
  name: 'everything',
  settings: {
    // List and watch separately, as on servers without streaming lists.
    watching: { initialStreaming: false },
    election: { enabled: true, retryPeriod: '300ms' },
    peering: { name: 'main' },
    admission: {
      server: new WebhookServiceServer({ service: 'everything', port: ${port}, servicePort: ${port} }),
      managed: 'everything.${group}',
    },
  },
})
export default kopf
kopf.on.create(Widget, async ({ name, recorder, client, step }) => {
  recorder.info('Hello', 'again')
  await step('secret', async () => {
    await client.create('secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { name } } as never)
  })
  return 'made'
})
kopf.on.update(Widget, ({ patch, recorder }) => {
  recorder.info('Hello', 'again')
  patch.status.updated = true
})
kopf.on.delete(Widget, ({ logger, name }) => logger.info('good-bye, ' + name))
kopf.on.field(Widget, 'spec.size', () => {})
kopf.timer(Widget, { interval: 0.2 }, ({ patch }) => {
  patch.status.ticked = true
})
kopf.daemon(Widget, async ({ logger, stopped }) => {
  logger.info('haunting')
  await stopped.wait()
})
kopf.on.event('podtemplates', ({ logger, name }) => logger.info('saw ' + name))
const limits = kopf.index('limitranges', ({ name }) => new Map([[name, name]]))
kopf.on.event(Widget, ({ logger }) => logger.info('limits: ' + [...limits.keys()]))
kopf.reconcile(Gadget, { owns: [ConfigMap], watches: [['podtemplates', () => []]] }, ({ name, spec, patch }) => {
  patch.metadata.annotations = { parts: String(spec.parts) }
  const children = spec.parts.map((part: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: name + '-' + part } }))
  return { children }
})
kopf.on.create(Zone, ({ recorder, logger, name }) => {
  recorder.info('Seen')
  recorder.info('Seen')
  logger.info('entered ' + name)
})
kopf.on.validate(Widget, { id: 'check' }, ({ spec }) => {
  if (spec?.size === 'wrong') throw new AdmissionError('not of this size')
})
kopf.on.mutate(Gadget, { id: 'mark', operations: ['CREATE'] }, ({ patch }) => {
  patch.metadata.labels = { marked: 'yes' }
})
kopf.on.convert(Gizmo2, { from: Gizmo1, to: Gizmo2 }, () => ({ spec: { converted: true } }))
kopf.on.convert(Gizmo2, { from: Gizmo2, to: Gizmo1 }, () => ({}))
`
}

export class AllHandlersScenario {
  readonly #api: Api
  readonly #group: string
  readonly #namespace: string

  constructor(api: Api, group: string, namespace: string) {
    this.#api = api
    this.#group = group
    this.#namespace = namespace
  }

  custom(rest: string, version: string = 'v1'): string {
    return `/apis/${this.#group}/${version}/namespaces/${this.#namespace}/${rest}`
  }

  #make(kind: string, name: string, spec: Tree, version: string = 'v1'): Promise<Answer> {
    const plural = `${kind.toLowerCase()}s`
    const body = { apiVersion: `${this.#group}/${version}`, kind, metadata: { name }, spec }
    return this.#api.post(this.custom(plural, version), body)
  }

  /** Creates, changes and deletes objects so that every handler runs, and checks the results. */
  async run(log: () => string): Promise<void> {
    const core = `/api/v1/namespaces/${this.#namespace}`
    const look = async (path: string) => expectStatus(await this.#api.get(path), 200)
    const gone = async (path: string) => expect((await this.#api.get(path)).status).toBe(404)
    const limits = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'mild' }, spec: { limits: [] } }
    expectStatus(await this.#api.post(`${core}/limitranges`, limits), 201)
    const template = { apiVersion: 'v1', kind: 'PodTemplate', metadata: { name: 'plan' }, template: podTemplate }
    expectStatus(await this.#api.post(`${core}/podtemplates`, template), 201)
    // The webhooks are in effect as soon as one of them refuses an object.
    await eventually(async () => {
      const { text } = await this.#api.post(`${this.custom('widgets')}?dryRun=All`, {
        apiVersion: `${this.#group}/v1`,
        kind: 'Widget',
        metadata: { name: 'never' },
        spec: { size: 'wrong' },
      })
      expect(text).toContain('not of this size')
    })
    expectStatus(await this.#make('Widget', 'first', { size: 'small' }), 201)
    await eventually(async () => {
      const { status, metadata } = await look(this.custom('widgets/first'))
      expect(status).toMatchObject({ ticked: true })
      expect(Object.values(status)).toContain('made')
      expect(metadata['finalizers']).toHaveLength(1)
    })
    await look(`${core}/secrets/first`)
    expectStatus(await this.#api.mergePatch(this.custom('widgets/first'), { spec: { size: 'large' } }), 200)
    await eventually(async () =>
      expect((await look(this.custom('widgets/first'))).status).toMatchObject({ updated: true }),
    )
    await eventually(async () => {
      const { items } = await look(`${core}/events`)
      expect(items.filter(({ reason }) => reason === 'Hello').map(({ count }) => count)).toEqual([2])
    })
    expectStatus(await this.#api.delete(this.custom('widgets/first')), 200)
    await eventually(() => gone(this.custom('widgets/first')))
    const gadget = expectStatus(await this.#make('Gadget', 'first', { parts: ['a', 'b'] }), 201)
    expect(gadget.metadata.labels).toEqual({ marked: 'yes' })
    await eventually(() => look(`${core}/configmaps/first-b`))
    expectStatus(await this.#api.mergePatch(this.custom('gadgets/first'), { spec: { parts: ['a'] } }), 200)
    await eventually(() => gone(`${core}/configmaps/first-b`))
    await look(`${core}/configmaps/first-a`)
    expectStatus(await this.#make('Gizmo', 'first', {}), 201)
    await eventually(async () =>
      expect((await look(this.custom('gizmos/first', 'v2'))).spec).toEqual({ converted: true }),
    )
    await eventually(async () => expect(log()).toContain('saw plan'))
    expect(log()).toContain('limits: mild')
    expect(log()).toContain('haunting')
  }

  async runClusterScoped(log: () => string): Promise<void> {
    const body = { apiVersion: `${this.#group}/v1`, kind: 'Zone', metadata: { name: 'north' } }
    expectStatus(await this.#api.post(`/apis/${this.#group}/v1/zones`, body), 201)
    await eventually(async () => expect(log()).toContain('entered north'))
  }
}

const podTemplate = { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'x', image: 'x' }] } }
