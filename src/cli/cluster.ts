/** The cluster of a command that looks something up or puts something right, and goes: how it is found, and what is in it. */
import { isForbidden, isNotFound } from '../client/api-error.ts'
import type { Session } from '../client/calls.ts'
import { type Client, createClient } from '../client/client.ts'
import { discover } from '../client/discovery.ts'
import { createSession } from '../client/session.ts'
import { createHttpsTransport } from '../client/transport.ts'
import { KopfError } from '../errors.ts'
import type { Resource, ResourceLike } from '../kube/resources.ts'
import { formatResource, selectResources, toSelector } from '../kube/selectors.ts'
import { systemClock } from '../util/clock.ts'
import { suggestName } from '../util/suggestions.ts'
import type { Transport } from '../util/transport.ts'
import { packageVersion } from '../util/version.ts'
import { type ClusterArguments, login } from './cluster-options.ts'

export interface ClusterOptions {
  readonly namespace?: string
  readonly close?: () => Promise<void>
}

/** Looked up once: a command does not live long enough for anything to change. */
export class Cluster implements AsyncDisposable {
  readonly session: Session
  readonly client: Client
  /** Where nobody names another. */
  readonly namespace: string
  readonly #close: () => Promise<void>
  #resources: Promise<readonly Resource[]> | undefined

  constructor(transport: Transport, { namespace = 'default', close = async () => {} }: ClusterOptions = {}) {
    this.namespace = namespace
    this.#close = close
    this.session = createSession({ transport, clock: systemClock, networking, userAgent: `kopf/${packageVersion()}` })
    this.client = createClient({ session: this.session, namespace, resolve: (like) => this.find(like) })
  }

  static async open(args: ClusterArguments): Promise<Cluster> {
    const connection = await login(args)
    const transport = createHttpsTransport(connection)
    const { defaultNamespace: namespace } = connection
    return new Cluster(transport, { ...(namespace && { namespace }), close: () => transport.close() })
  }

  async resources(): Promise<readonly Resource[]> {
    this.#resources ??= discover(this.session).then(({ resources }) => resources)
    return this.#resources
  }

  /** What was defined meanwhile is found from now on. */
  forget(): void {
    this.#resources = undefined
  }

  /** The one resource that is meant, by any of its names. */
  async find(like: ResourceLike): Promise<Resource> {
    const all = await this.resources()
    const selector = toSelector(like)
    const { selected, candidates } = selectResources(selector, all)
    if (selected.length === 1) return selected[0]!
    const several = candidates.map(formatResource).join(', ')
    const meant = suggestName(
      String(selector.name ?? selector.kind ?? ''),
      all.map(({ plural }) => plural),
    )
    const advice = meant === undefined ? 'is its CustomResourceDefinition installed?' : `did you mean "${meant}"?`
    throw new KopfError(
      'KOPF_RESOURCE',
      candidates.length > 1
        ? `Cannot tell which resource is meant by ${selector}: there are ${several}; name one of them`
        : `Cannot find the resource ${selector}: the cluster does not serve it; ${advice}`,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}

/** A person waits: what does not pass by itself in a few seconds is told. */
const networking = { requestTimeout: 30, connectTimeout: 10, errorBackoffs: [0.5, 1], enforceRetryAfter: true } as const

/** What a command wanted to do, for messages. */
export interface Deed {
  /** `explain`, `release` */
  readonly verb: string
  readonly resource: Resource
  readonly name?: string | undefined
  readonly namespace?: string | undefined
  /** What the rule of a role has to allow for it. */
  readonly needs: readonly string[]
}

/** What the API server refuses, in words for whoever has typed the command. */
export function toCommandError(error: unknown, deed: Deed): unknown {
  const { verb, resource, name, namespace, needs } = deed
  const { group, plural } = resource
  const where = resource.namespaced && namespace !== undefined ? ` in the namespace "${namespace}"` : ''
  const what = `${group === '' ? plural : `${plural}.${group}`}${name === undefined ? '' : ` "${name}"`}`
  if (isNotFound(error)) {
    return new KopfError('KOPF_NOT_FOUND', `Cannot ${verb} ${what}: there is none of that name${where}`, {
      cause: error,
    })
  }
  if (!isForbidden(error)) return error
  const rule = JSON.stringify({ apiGroups: [group], resources: [plural], verbs: needs })
  return new KopfError('KOPF_FORBIDDEN', `Cannot ${verb} ${what}: this user may not; a role needs the rule ${rule}`, {
    cause: error,
  })
}
