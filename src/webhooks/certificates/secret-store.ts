/**
 * Reads, writes and watches one Secret by name, with the public client: webhook servers use only what the operator passes to any webhook server, so
 * they have no informer. Called by shared-secret.ts. The errors name missing permissions, and never contain the content of the Secret.
 */
import { ApiError, isAlreadyExists, isConflict, isForbidden, isNotFound } from '../../client/api-error.ts'
import { KopfError } from '../../errors.ts'
import type { Secret } from '../../kube/builtins/core/v1.generated.ts'
import type { WebhookContext } from '../../settings/webhook-server.ts'
import { noLongerNeeded } from '../../util/async/clock.ts'

export interface CertificateSecretName {
  readonly name: string
  readonly namespace: string
}

/** The Secret is read again after this time if it cannot be watched, or if the watch has ended. */
const pollMs = 60_000

export class SecretStore {
  readonly #secret: CertificateSecretName
  readonly #context: WebhookContext
  /** The resource version of the last read or write; undefined if the Secret does not exist. */
  #version: string | undefined

  constructor(secret: CertificateSecretName, context: WebhookContext) {
    this.#secret = secret
    this.#context = context
  }

  /** Resolves to undefined if the Secret does not exist. */
  async read(): Promise<Secret | undefined> {
    const { name, namespace } = this.#secret
    const { client, signal } = this.#context
    this.#version = undefined
    try {
      const secret = await client.get('secrets', name, { namespace, signal })
      this.#version = secret.metadata.resourceVersion
      return secret
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw toSecretError(error, this.#secret)
    }
  }

  /** Creates a Secret without a resource version, and replaces one with a version. False if another client has written it since it was read. */
  async write(secret: Omit<Secret, 'apiVersion' | 'kind'>): Promise<boolean> {
    const { namespace } = this.#secret
    const { client, signal } = this.#context
    const isNew = secret.metadata.resourceVersion === undefined
    try {
      const written = await client[isNew ? 'create' : 'replace']('secrets', secret, { namespace, signal })
      this.#version = written.metadata.resourceVersion
      return true
    } catch (error) {
      if (isAlreadyExists(error) || isConflict(error) || (!isNew && isNotFound(error))) return false
      throw toSecretError(error, this.#secret)
    }
  }

  /** Resolves when the Secret changes, or after `maxMs`. Without a watch, it resolves after a minute. */
  async waitForChange(maxMs: number): Promise<void> {
    const { clock, signal } = this.#context
    const round = new AbortController()
    const stop = () => round.abort(noLongerNeeded)
    signal.addEventListener('abort', stop, { once: true })
    try {
      const watching = this.#watch(round.signal).catch(() => clock.sleep(pollMs, round.signal))
      await Promise.race([clock.sleep(maxMs, round.signal), watching])
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      signal.removeEventListener('abort', stop)
      stop()
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { name, namespace } = this.#secret
    const selection = { namespace, fieldSelector: { 'metadata.name': name }, resourceVersion: this.#version, signal }
    for await (const { type } of this.#context.client.watch('secrets', selection)) {
      if (type !== 'BOOKMARK') return
    }
    throw new Error('the watch has ended')
  }
}

/** Whether the API server could not call a webhook: perhaps one of our own, which is not served yet. */
export function isBlockedByWebhook(error: unknown): boolean {
  const reason = error instanceof KopfError ? (error.cause ?? error) : error
  return reason instanceof ApiError && reason.status >= 500 && reason.message.includes('failed calling webhook')
}

function toSecretError(error: unknown, { name, namespace }: CertificateSecretName): unknown {
  const advice = isForbidden(error)
    ? 'allow the operator "get", "watch" and "update" of this Secret, and "create" of secrets in its namespace'
    : isBlockedByWebhook(error)
      ? 'exclude this Secret from the webhooks for secrets, by the label kopf.dev/webhook-service'
      : undefined
  if (advice === undefined) return error
  return new KopfError(
    'KOPF_WEBHOOK_SECRET',
    `Cannot store the certificates of the webhooks in the Secret "${namespace}/${name}": ${(error as Error).message}; ${advice}`,
    { cause: error },
  )
}
