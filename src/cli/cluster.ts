/** Access to a cluster for commands that run once and exit: login, client, discovery, and errors for the user. */
import { isForbidden, isNotFound } from '../client/api-error.ts'
import type { ConnectionInfo } from '../client/auth/connection-info.ts'
import { type Client, createClient } from '../client/client.ts'
import { discover } from '../client/discovery/discovery.ts'
import { createHttpsTransport } from '../client/http/transport.ts'
import type { Located } from '../client/paths.ts'
import { createSession, type Session } from '../client/session.ts'
import { KopfError } from '../errors.ts'
import { formatGroupResource } from '../kube/objects.ts'
import type { Resource, ResourceLike } from '../kube/resources/resources.ts'
import { formatResource, type ResourceSelector, selectResources, toSelector } from '../kube/resources/selectors.ts'
import { systemClock } from '../util/async/clock.ts'
import { adviseName } from '../util/option-checks.ts'
import { packageVersion } from '../util/process/package-files.ts'
import { suggestName } from '../util/text/did-you-mean.ts'
import type { Transport } from '../util/transport.ts'
import { adviseOnNamespace, describeMissing } from './missing-names.ts'
import { type ClusterArguments, login } from './options/cluster.ts'

export interface ClusterOptions {
  readonly namespace?: string
  readonly server?: string
  readonly close?: () => Promise<void>
}

/** The cluster of a command. Discovery is cached: a command does not run long enough for resources to change. */
export class CommandCluster implements AsyncDisposable {
  /** Sends requests without timeouts and retries, for responses that are streamed. */
  readonly transport: Transport
  readonly session: Session
  readonly client: Client
  /** The default namespace, from the kubeconfig. */
  readonly namespace: string
  /** The address of the API server; undefined for a server in this process. */
  readonly server: string | undefined
  readonly #close: () => Promise<void>
  #resources: Promise<readonly Resource[]> | undefined

  constructor(transport: Transport, { namespace = 'default', server, close = async () => {} }: ClusterOptions = {}) {
    this.transport = transport
    this.namespace = namespace
    this.server = server
    this.#close = close
    this.session = createSession({ transport, clock: systemClock, networking, userAgent: `kopf/${packageVersion()}` })
    this.client = createClient({ session: this.session, namespace, resolve: (like) => this.find(like) })
  }

  /** Opens the cluster of the options, or that of a connection. */
  static async open(args: ClusterArguments, known?: ConnectionInfo): Promise<CommandCluster> {
    const connection = known ?? (await login(args))
    const transport = createHttpsTransport(connection)
    const { defaultNamespace: namespace } = connection
    const { server } = connection
    return new CommandCluster(transport, { server, ...(namespace && { namespace }), close: () => transport.close() })
  }

  async resources(): Promise<readonly Resource[]> {
    this.#resources ??= discover(this.session).then(({ resources }) => resources)
    return this.#resources
  }

  /** Drops the discovery cache, so that new CRDs are found. */
  invalidate(): void {
    this.#resources = undefined
  }

  /** Finds a resource by any of its names. Throws if there is none, or more than one. */
  async find(like: ResourceLike): Promise<Resource> {
    const all = await this.resources()
    const selector = toSelector(like)
    const { selected, candidates } = selectResources(selector, all)
    if (selected.length === 1) return selected[0]!
    throw new KopfError(
      'KOPF_RESOURCE',
      candidates.length > 1
        ? `Cannot tell which resource is meant by ${selector}: there are ${candidates.map(formatResource).join(', ')}; name one of them`
        : `Cannot find the resource ${selector}: the cluster does not serve it; ${adviseOnResource(selector, all)}`,
    )
  }

  /** Explains 403 and 404 responses. If the object was not found, asks for its namespace and for the names that exist. */
  async explainError(error: unknown, action: ClusterAction): Promise<unknown> {
    const { resource, name, namespace } = action
    if (!isNotFound(error) || name === undefined) return toCommandError(error, action)
    const why = await describeMissing(this.session, { resource, name, namespace })
    return new KopfError('KOPF_NOT_FOUND', `Cannot ${describeAction(action)}: ${why}`, { cause: error })
  }

  /** Throws if the namespace does not exist: the API server lists no objects for it, without an error. */
  async checkNamespace(namespace: string, action: ClusterAction): Promise<void> {
    const advice = await adviseOnNamespace(this.session, namespace)
    if (advice === undefined) return
    const message = `Cannot ${describeAction(action)}: the namespace "${namespace}" does not exist${advice}`
    throw new KopfError('KOPF_NOT_FOUND', message)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}

/** Short timeouts and few retries: a user waits for the command. */
const networking = { requestTimeout: 30, connectTimeout: 10, errorBackoffs: [0.5, 1], enforceRetryAfter: true } as const

/** The action of a command on a resource, for error messages. */
export interface ClusterAction {
  /** `explain`, `release` */
  readonly verb: string
  readonly resource: Located
  readonly name?: string | undefined
  readonly namespace?: string | undefined
  /** The verbs that an RBAC rule must allow for it. */
  readonly verbs: readonly string[]
}

/** Explains 403 and 404 responses of the API server to the user of the command. Returns other errors unchanged. */
export function toCommandError(error: unknown, action: ClusterAction): unknown {
  const { resource, namespace, verbs } = action
  const where = resource.namespaced && namespace !== undefined ? ` in the namespace "${namespace}"` : ''
  if (isNotFound(error)) {
    const message = `Cannot ${describeAction(action)}: there is no object of that name${where}`
    return new KopfError('KOPF_NOT_FOUND', message, { cause: error })
  }
  if (!isForbidden(error)) return error
  const rule = JSON.stringify({ apiGroups: [resource.group], resources: [resource.plural], verbs })
  const message = `Cannot ${describeAction(action)}: this user lacks the permission; a role needs the rule ${rule}`
  return new KopfError('KOPF_FORBIDDEN', message, { cause: error })
}

/** `explain databases.example.com "orders"` */
function describeAction({ verb, resource, name }: ClusterAction): string {
  return `${verb} ${formatGroupResource(resource)}${name === undefined ? '' : ` "${name}"`}`
}

/** The same name in another group or version, or the most similar name. */
function adviseOnResource(selector: ResourceSelector, all: readonly Resource[]): string {
  const name = String(selector.name ?? selector.kind ?? '')
  const namesakes = all.filter(({ plural, singular, kind, shortcuts }) =>
    [plural, singular, kind, ...shortcuts].includes(name),
  )
  if (namesakes.length > 0) return adviseName(String(selector), namesakes.map(formatResource))
  const names = all.flatMap(({ plural, singular, kind }) => [plural, singular, kind])
  const suggestion = suggestName(name, names)
  return suggestion === undefined ? 'is its CustomResourceDefinition installed?' : `did you mean "${suggestion}"?`
}
