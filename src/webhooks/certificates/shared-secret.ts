/**
 * The certificates that the replicas of an operator share in a Secret. Whoever comes first makes them, whoever sees first
 * that something is due does it, and all others follow. For service-server.ts, which serves what comes from here; what is
 * judged, and what is due, is in keyring.ts and rotation.ts.
 */

import { KopfError } from '../../errors.ts'
import type { OpenObject } from '../../kube/resources/resources.ts'
import type { WebhookContext } from '../../settings/webhook-server.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { emptyKeyring, type Keyring, readKeyring, type SecretData, toSecretData } from './keyring.ts'
import { planRotation, type RotationOptions, type RotationStep, rotate } from './rotation.ts'
import { type CertificateSecretName, isBlockedByWebhook, SecretStore } from './secret-store.ts'

export interface CertificateSecretOptions extends CertificateSecretName, Omit<RotationOptions, 'nowMs'> {
  /** The Service that the certificates are for. */
  readonly service: string
}

/** The mark of a Secret that is ours; by it, webhooks that review secrets can leave it out. */
const serviceLabel = 'kopf.dev/webhook-service'

/** A watch is not trusted for longer than this: a connection can die without a word. */
const maxWatchMs = 5 * 60_000
/** Before the next look: what comes in bursts is looked at once. */
const debounceMs = 1000
/** After it was put right: should somebody else undo that again and again, nobody is flooded. */
const repairDelayMs = 60_000
/** For what could not be written because of webhooks that are not served yet. */
const saveRetryMs = 5000
/** After a failure. */
const errorRetryMs = 60_000

const rotationMessages: Readonly<Record<RotationStep, string>> = {
  add: 'another authority is trusted',
  sign: 'another certificate is served',
  drop: 'the old authority is not trusted any more',
}

export class CertificateSecret {
  readonly #options: CertificateSecretOptions
  readonly #context: WebhookContext
  readonly #store: SecretStore
  /** What is served; undefined before the first look. */
  #served: SecretData | undefined
  /** False while what is served could not be written. */
  #isSaved = true
  /** Until the next look, if nothing is heard of before. */
  #waitMs = 0
  #delayMs = debounceMs

  constructor(options: CertificateSecretOptions, context: WebhookContext) {
    this.#options = options
    this.#context = context
    this.#store = new SecretStore(options, context)
  }

  /** What is to be served. Rejects where it can be neither read nor made. */
  async open(): Promise<Keyring> {
    const { clock, signal } = this.#context
    for (;;) {
      const keyring = await this.#sync()
      if (keyring !== undefined) return keyring
      await clock.sleep(debounceMs, signal)
    }
  }

  /** What is to be served from now on, once that is something else. Whatever goes wrong meanwhile is logged. */
  async next(): Promise<Keyring> {
    const { clock, signal } = this.#context
    for (;;) {
      await this.#store.waitForChange(this.#waitMs)
      await clock.sleep(this.#delayMs, signal)
      const keyring = await this.#trySync()
      if (keyring !== undefined) return keyring
    }
  }

  /** Undefined where it is as before, or nobody knows. */
  async #trySync(): Promise<Keyring | undefined> {
    const { logger, signal } = this.#context
    const before = this.#served
    this.#waitMs = 0
    this.#delayMs = debounceMs
    try {
      const keyring = await this.#sync()
      return isSame(before, this.#served) ? undefined : keyring
    } catch (error) {
      signal.throwIfAborted()
      logger.warn('Cannot look after the certificates of the webhooks; those that are served stay', { error })
      this.#waitMs = errorRetryMs
      return undefined
    }
  }

  /** Reads, does what is due, and writes that; undefined where somebody else has written meanwhile. */
  async #sync(): Promise<Keyring | undefined> {
    const nowMs = this.#context.clock.now()
    const secret = await this.#store.read()
    const { keyring, steps } = await rotate(this.#readSecret(secret, nowMs), { ...this.#options, nowMs })
    if ((steps.length > 0 || !this.#isSaved) && !(await this.#save(secret, keyring))) return undefined
    for (const step of this.#isSaved ? steps : []) {
      this.#context.logger.info(`Webhook certificates in the Secret ${this}: ${rotationMessages[step]}`)
    }
    this.#served = toSecretData(keyring)
    this.#waitMs = this.#isSaved ? Math.min(maxWatchMs, planRotation(keyring).atMs - nowMs) : saveRetryMs
    return keyring
  }

  /** From what to go on: what the Secret holds, as far as it is in order; else what is served. */
  #readSecret(secret: OpenObject | undefined, nowMs: number): Keyring {
    const { hosts } = this.#options
    const data = dataOf(secret)
    this.#checkOwner(secret, data)
    const { keyring, problems } = readKeyring(data, { hosts, nowMs })
    if (problems.length > 0 && Object.keys(data).length > 0) {
      this.#context.logger.warn(`The Secret ${this} is not in order, and is put right: ${problems.join('; ')}`)
    }
    if (problems.length > 0 && this.#served !== undefined && this.#isSaved) this.#delayMs = repairDelayMs
    if (keyring.serving !== undefined || keyring.signer !== undefined) {
      // Whatever could not be written before: somebody else has written.
      this.#isSaved = true
      return keyring
    }
    if (this.#served === undefined) return emptyKeyring
    const { keyring: served } = readKeyring(this.#served, { hosts, nowMs })
    // Whoever takes the Secret away wants new keys: a rotation begins, and no request is lost for it.
    return this.#isSaved ? { ...served, signer: undefined } : served
  }

  /** An empty one may have been put there for us, by somebody who does not let us create secrets. */
  #checkOwner(secret: OpenObject | undefined, data: SecretData): void {
    const owner = secret?.metadata.labels?.[serviceLabel]
    if (owner === this.#options.service) return
    if (owner === undefined && Object.keys(data).length === 0) return
    const whose = owner === undefined ? 'has something else in it' : `is for the Service ${JSON.stringify(owner)}`
    throw new KopfError(
      'KOPF_WEBHOOK_SECRET',
      `Cannot keep the certificates of the webhooks in the Secret ${this}: it ${whose}; choose another name with the option "secret", or delete it`,
    )
  }

  async #save(secret: OpenObject | undefined, keyring: Keyring): Promise<boolean> {
    try {
      const isWritten = await this.#store.write(this.#toSecret(secret, keyring))
      this.#isSaved ||= isWritten
      return isWritten
    } catch (error) {
      // Should it be our own webhooks that are asked, they must be served before anything can be written.
      if ((this.#served !== undefined && this.#isSaved) || !isBlockedByWebhook(error)) throw error
      if (this.#isSaved) {
        this.#context.logger.warn('The webhooks are served with certificates that could not be kept', { error })
      }
      this.#isSaved = false
      return true
    }
  }

  #toSecret(secret: OpenObject | undefined, keyring: Keyring): Partial<OpenObject> {
    const { name, namespace, service } = this.#options
    const metadata = secret?.metadata ?? { name, namespace }
    return {
      // The type can never be changed: what is there keeps its own.
      type: 'kubernetes.io/tls',
      ...secret,
      metadata: { ...metadata, labels: { ...metadata.labels, [serviceLabel]: service } },
      data: { ...dataOf(secret), ...toSecretData(keyring) },
    }
  }

  /** Where it is, for people. */
  toString(): string {
    return JSON.stringify(`${this.#options.namespace}/${this.#options.name}`)
  }
}

function dataOf(secret: OpenObject | undefined): SecretData {
  const data = secret?.['data']
  return isPlainObject(data) ? (data as SecretData) : {}
}

function isSame(one: SecretData | undefined, other: SecretData | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
