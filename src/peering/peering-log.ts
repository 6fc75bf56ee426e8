/** What is said of a peering, and when: in Kopf's words where it has some, so that whoever looks for them finds them. */
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

export class PeeringLog {
  readonly #options: PeeringLogOptions
  /** `waiting`: paused although nobody is in the way; undefined as long as nothing is known. */
  #state: 'active' | 'paused' | 'waiting' | undefined
  /** The identities that a warning was about, and that are still there: of rivals, and of those with too long a lifetime. */
  #rivals: ReadonlySet<string> = new Set()
  #capped: ReadonlySet<string> = new Set()
  /** What was warned of, and has not been better since. */
  readonly #troubles = new Set<string>()

  constructor(options: PeeringLogOptions) {
    this.#options = options
    if (options.settings.mandatory) this.#state = 'waiting'
  }

  judged({ superiors, rivals }: PeeringDecision, peers: Peers): void {
    const { logger } = this.#options
    for (const topic of ['missing', 'look']) this.#troubles.delete(topic)
    this.#warnOfCapped([...superiors, ...rivals].filter(({ isCapped }) => isCapped))
    const isNew = this.#state !== 'paused'
    if (superiors.length > 0) {
      if (isNew) logger.info(`Pausing operations in favour of ${describePeers(superiors)}${this.#concerned}.`)
      this.#state = 'paused'
    } else if (rivals.length > 0) {
      this.#warnOfRivals(rivals)
      if (isNew)
        logger.warn(`Pausing all operators, including self: ${describePeers([...peers.values()])}${this.#concerned}`)
      this.#state = 'paused'
    } else {
      this.#resume()
    }
    if (rivals.length === 0) this.#rivals = new Set()
  }

  /** Nobody is to be seen there. */
  unpeered(isPaused: boolean): void {
    if (isPaused) this.#state = 'waiting'
    else this.#resume()
  }

  signed(result: 'ok' | 'not found'): void {
    const { logger, settings } = this.#options
    this.#troubles.delete('sign')
    if (settings.stealth && result === 'ok') return
    logger.debug(`Keep-alive in '${settings.name}' ${this.#where}: ${result}.`)
  }

  isMissing(): void {
    const { logger, settings, resource } = this.#options
    const words = `There is no peering "${settings.name}" ${this.#where} (${formatResource(resource)})`
    if (!settings.mandatory) logger.debug(`${words}: the operator runs without one.`)
    else this.#warn('missing', `${words}: the operator is paused until somebody creates it: ${this.#command}`)
  }

  cannotLook(error: unknown): void {
    const { name, mandatory } = this.#options.settings
    const effect = mandatory ? 'is paused' : 'takes no notice of other operators'
    const words = `Cannot look at the peering "${name}", so that the operator ${effect} until it can`
    this.#warn('look', `${words}: ${this.#explain(error)}`)
  }

  cannotSign(error: unknown): void {
    const { name } = this.#options.settings
    this.#warn(
      'sign',
      `Cannot tell the others in the peering "${name}" that the operator runs: ${this.#explain(error)}`,
    )
  }

  #resume(): void {
    if (this.#state === 'paused' || this.#state === 'waiting') {
      this.#options.logger.info(
        `Resuming operations after the pause. Conflicting operators with the same priority are gone.${this.#concerned}`,
      )
    }
    this.#state = 'active'
  }

  /** Again only when there are others: each sign of life of each of them would make a line. */
  #warnOfRivals(rivals: readonly Peer[]): void {
    const before = this.#rivals
    this.#rivals = identitiesOf(rivals)
    if (isSameSet(this.#rivals, before)) return
    this.#options.logger.warn(`Possibly conflicting operators with the same priority: ${describePeers(rivals)}.`)
  }

  /** Once for each peer, although each of its signs of life asks for too much. */
  #warnOfCapped(capped: readonly Peer[]): void {
    const { logger, settings } = this.#options
    const fresh = capped.filter(({ identity }) => !this.#capped.has(identity))
    this.#capped = identitiesOf(capped)
    if (fresh.length === 0) return
    logger.warn(
      `Records in the peering "${settings.name}" ${this.#where} ask to be believed for longer than settings.peering.maxLifetime ` +
        `(${formatSeconds(settings.maxLifetime)}), and count for no more than that: ${describePeers(fresh)}.`,
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

  #warn(topic: string, message: string): void {
    if (!this.#troubles.has(topic)) this.#options.logger.warn(message)
    this.#troubles.add(topic)
  }

  /** Added to the words of Kopf: with several namespaces, only one of them is paused. */
  get #concerned(): string {
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
