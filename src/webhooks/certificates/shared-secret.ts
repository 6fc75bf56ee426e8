/**
 * The certificates that the replicas of an operator share in a Secret. The first replica creates them; the first one that sees a due rotation step
 * runs it, and the others follow by watching the Secret. Called by service-server.ts. keyring.ts checks the content, rotation.ts plans the steps.
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

/** The label of a Secret that belongs to a webhook Service. Webhooks for secrets can exclude it by this label. */
export const serviceLabel = 'kopf.dev/webhook-service'

/** The Secret is read again after this time, even if the watch reports no change: a connection can die unnoticed. */
const maxWatchMs = 5 * 60_000
/** The delay between a change and the next read: several changes within this time cause one read. */
const debounceMs = 1000
/** The delay after a repair of the Secret: another client may undo the repair again and again. */
const repairDelayMs = 60_000
/** The delay before the next attempt to write certificates that a webhook has prevented from being written. */
const saveRetryMs = 5000
/** The delay after any other failure. */
const errorRetryMs = 60_000

const rotationMessages: Readonly<Record<RotationStep, string>> = {
  add: 'a new CA is trusted',
  sign: 'a new certificate is served',
  drop: 'the old CA is no longer trusted',
}

export class CertificateSecret {
  readonly #options: CertificateSecretOptions
  readonly #context: WebhookContext
  readonly #store: SecretStore
  /** The served certificates; undefined before the first read. */
  #served: SecretData | undefined
  /** False while the served certificates are not in the Secret, since the write has failed. */
  #isSaved = true
  /** The time until the next read if the Secret does not change. */
  #waitMs = 0
  /** The time between a change and the next read. */
  #delayMs = debounceMs

  constructor(options: CertificateSecretOptions, context: WebhookContext) {
    this.#options = options
    this.#context = context
    this.#store = new SecretStore(options, context)
  }

  /** Resolves to the first certificates. Rejects if they can be neither read nor created. */
  async open(): Promise<Keyring> {
    const { clock, signal } = this.#context
    for (;;) {
      const keyring = await this.#sync()
      if (keyring !== undefined) return keyring
      await clock.sleep(debounceMs, signal)
    }
  }

  /** Resolves to the next certificates when they have changed. Failures in the meantime are logged, and the old certificates stay. */
  async next(): Promise<Keyring> {
    const { clock, signal } = this.#context
    for (;;) {
      await this.#store.waitForChange(this.#waitMs)
      await clock.sleep(this.#delayMs, signal)
      const keyring = await this.#trySync()
      if (keyring !== undefined) return keyring
    }
  }

  /** Undefined if the certificates have not changed, or the Secret cannot be read or written. */
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
      logger.warn('Cannot check the certificates of the webhooks; the current certificates stay in use', { error })
      this.#waitMs = errorRetryMs
      return undefined
    }
  }

  /** Reads the Secret, runs the due rotation steps, and writes the result. Undefined if another replica has written the Secret in the meantime. */
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

  /** The valid content of the Secret, or else the served certificates. */
  #readSecret(secret: OpenObject | undefined, nowMs: number): Keyring {
    const { hosts } = this.#options
    const data = dataOf(secret)
    this.#checkOwner(secret, data)
    const { keyring, problems } = readKeyring(data, { hosts, nowMs })
    if (problems.length > 0 && Object.keys(data).length > 0) {
      this.#context.logger.warn(`The Secret ${this} is invalid and will be repaired: ${problems.join('; ')}`)
    }
    if (problems.length > 0 && this.#served !== undefined && this.#isSaved) this.#delayMs = repairDelayMs
    if (keyring.serving !== undefined || keyring.signer !== undefined) {
      // Another replica has written the Secret: its certificates replace our own unsaved ones.
      this.#isSaved = true
      return keyring
    }
    if (this.#served === undefined) return emptyKeyring
    const { keyring: served } = readKeyring(this.#served, { hosts, nowMs })
    // A user who deletes the Secret wants new keys: without a signer, a rotation starts, and the served certificate stays until its end.
    return this.#isSaved ? { ...served, signer: undefined } : served
  }

  /** Throws if the Secret belongs to something else. An empty Secret without the label is accepted: the operator may not be allowed to create secrets. */
  #checkOwner(secret: OpenObject | undefined, data: SecretData): void {
    const owner = secret?.metadata.labels?.[serviceLabel]
    if (owner === this.#options.service) return
    if (owner === undefined && Object.keys(data).length === 0) return
    const problem = owner === undefined ? 'has other content' : `is for the Service ${JSON.stringify(owner)}`
    throw new KopfError(
      'KOPF_WEBHOOK_SECRET',
      `Cannot store the certificates of the webhooks in the Secret ${this}: it ${problem}; choose another name with the option "secret", or delete the Secret`,
    )
  }

  async #save(secret: OpenObject | undefined, keyring: Keyring): Promise<boolean> {
    try {
      const isWritten = await this.#store.write(this.#toSecret(secret, keyring))
      this.#isSaved ||= isWritten
      return isWritten
    } catch (error) {
      // The API server may call our own webhooks for this write: they must be served before it can succeed.
      if ((this.#served !== undefined && this.#isSaved) || !isBlockedByWebhook(error)) throw error
      if (this.#isSaved) {
        this.#context.logger.warn('The webhooks are served with certificates that could not be stored', { error })
      }
      this.#isSaved = false
      return true
    }
  }

  #toSecret(secret: OpenObject | undefined, keyring: Keyring): Partial<OpenObject> {
    const { name, namespace, service } = this.#options
    const metadata = secret?.metadata ?? { name, namespace }
    return {
      // The type of a Secret is immutable: an existing Secret keeps its own.
      type: 'kubernetes.io/tls',
      ...secret,
      metadata: { ...metadata, labels: { ...metadata.labels, [serviceLabel]: service } },
      data: { ...dataOf(secret), ...toSecretData(keyring) },
    }
  }

  /** The namespace and the name in quotes, for messages. */
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
