/** The log messages of one peering, in Kopf's words where Kopf has them. Called by peering.ts. Logs each state and each problem once, until it changes. */
import { isForbidden } from '../client/api-error.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import type { PeeringSettings } from '../settings/groups.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import { describePeers, type Peer, type PeeringDecision, type Peers } from './peers.ts'

export interface PeeringLogOptions {
  readonly logger: Logger
  readonly settings: PeeringSettings
  readonly resource: Resource
  readonly namespace: string | undefined
  /** Whether the operator takes part in peerings of several namespaces: then messages name the namespace. */
  readonly isOneOfSeveral: () => boolean
}

/** The problems that are logged once: the object is missing, or cannot be watched, or cannot be written. */
type PeeringProblem = 'missing' | 'watch' | 'write'

export class PeeringLog {
  readonly #options: PeeringLogOptions
  /** `waiting`: paused without a peer, since the mandatory peering is missing. Undefined before the first decision. */
  #state: 'active' | 'paused' | 'waiting' | undefined
  /** The identities of the peers with the same priority in the last warning. */
  #samePeers: ReadonlySet<string> = new Set()
  /** The identities of the peers with a too long lifetime in the last warning. */
  #capped: ReadonlySet<string> = new Set()
  /** Problems that were logged and still exist. */
  readonly #problems = new Set<PeeringProblem>()

  constructor(options: PeeringLogOptions) {
    this.#options = options
    if (options.settings.mandatory) this.#state = 'waiting'
  }

  decided({ prioPeers, samePeers }: PeeringDecision, peers: Peers): void {
    const { logger } = this.#options
    for (const problem of ['missing', 'watch'] as const) this.#problems.delete(problem)
    this.#warnAboutCapped([...prioPeers, ...samePeers].filter(({ isCapped }) => isCapped))
    const isNew = this.#state !== 'paused'
    if (prioPeers.length > 0) {
      if (isNew) logger.info(`Pausing operations in favour of ${describePeers(prioPeers)}${this.#namespaceSuffix}.`)
      this.#state = 'paused'
    } else if (samePeers.length > 0) {
      this.#warnAboutSamePeers(samePeers)
      if (isNew)
        logger.warn(
          `Pausing all operators, including self: ${describePeers([...peers.values()])}${this.#namespaceSuffix}`,
        )
      this.#state = 'paused'
    } else {
      this.#resume()
    }
    if (samePeers.length === 0) this.#samePeers = new Set()
  }

  /** The peering object does not exist, or cannot be read. */
  decidedWithoutPeers(isPaused: boolean): void {
    if (isPaused) this.#state = 'waiting'
    else this.#resume()
  }

  keepAliveSent(result: 'ok' | 'not found'): void {
    const { logger, settings } = this.#options
    this.#problems.delete('write')
    if (settings.stealth && result === 'ok') return
    logger.debug(`Keep-alive in '${settings.name}' ${this.#where}: ${result}.`)
  }

  objectMissing(): void {
    const { logger, settings, resource } = this.#options
    const message = `There is no peering "${settings.name}" ${this.#where} (${formatResource(resource)})`
    if (!settings.mandatory) logger.debug(`${message}: the operator runs without one.`)
    else this.#warnOnce('missing', `${message}: the operator is paused until it is created: ${this.#command}`)
  }

  watchFailed(error: unknown): void {
    const { name, mandatory } = this.#options.settings
    const effect = mandatory ? 'is paused' : 'ignores other operators'
    const message = `Cannot watch the peering "${name}": the operator ${effect} until it can`
    this.#warnOnce('watch', `${message}: ${this.#explain(error)}`)
  }

  writeFailed(error: unknown): void {
    const { name } = this.#options.settings
    this.#warnOnce(
      'write',
      `Cannot write to the peering "${name}", so other operators may not see this one: ${this.#explain(error)}`,
    )
  }

  #resume(): void {
    if (this.#state === 'paused' || this.#state === 'waiting') {
      this.#options.logger.info(
        `Resuming operations after the pause. Conflicting operators with the same priority are gone.${this.#namespaceSuffix}`,
      )
    }
    this.#state = 'active'
  }

  /** Warns again only if the set of peers has changed: each keep-alive of a peer would otherwise log a line. */
  #warnAboutSamePeers(samePeers: readonly Peer[]): void {
    const before = this.#samePeers
    this.#samePeers = identitiesOf(samePeers)
    if (isSameSet(this.#samePeers, before)) return
    this.#options.logger.warn(`Possibly conflicting operators with the same priority: ${describePeers(samePeers)}.`)
  }

  /** Warns once for each peer, although each of its keep-alives has the too long lifetime. */
  #warnAboutCapped(capped: readonly Peer[]): void {
    const { logger, settings } = this.#options
    const newlyCapped = capped.filter(({ identity }) => !this.#capped.has(identity))
    this.#capped = identitiesOf(capped)
    if (newlyCapped.length === 0) return
    logger.warn(
      `Records in the peering "${settings.name}" ${this.#where} have a lifetime above settings.peering.maxLifetime ` +
        `(${formatSeconds(settings.maxLifetime)}), which counts instead: ${describePeers(newlyCapped)}.`,
    )
  }

  #explain(error: unknown): string {
    if (!isForbidden(error)) return `${describeError(error)}; it is tried again`
    const { resource, namespace } = this.#options
    return (
      `${describeError(error)}\nGrant the operator a ${namespace === undefined ? 'cluster role' : 'role'} with the rule: ` +
      `apiGroups: ["${resource.group}"], resources: ["${resource.plural}"], verbs: ["list", "watch", "patch"]`
    )
  }

  #warnOnce(problem: PeeringProblem, message: string): void {
    if (!this.#problems.has(problem)) this.#options.logger.warn(message)
    this.#problems.add(problem)
  }

  /** Added to Kopf's messages if the operator serves several namespaces: only this one is paused or resumed. */
  get #namespaceSuffix(): string {
    const { namespace, isOneOfSeveral } = this.#options
    return namespace === undefined || !isOneOfSeveral() ? '' : ` (namespace "${namespace}")`
  }

  get #where(): string {
    const { namespace } = this.#options
    return namespace === undefined ? 'cluster-wide' : `in '${namespace}'`
  }

  get #command(): string {
    const { resource, namespace, settings } = this.#options
    const { group, version, kind } = resource
    const metadata = { name: settings.name, ...(namespace === undefined ? {} : { namespace }) }
    const object = JSON.stringify({ apiVersion: `${group}/${version}`, kind, metadata })
    return `echo '${object}' | kubectl apply -f -`
  }
}

function identitiesOf(peers: readonly Peer[]): ReadonlySet<string> {
  return new Set(peers.map(({ identity }) => identity))
}

function isSameSet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((each) => other.has(each))
}

function formatSeconds(duration: Duration): string {
  return `${toMs(duration) / 1000} seconds`
}
