/**
 * One Secret by its name: read, written by the version that was read, and waited for. For shared-secret.ts, which
 * knows what is in it. Says in its errors what to grant, and never what the Secret holds.
 */
import { ApiError, isAlreadyExists, isConflict, isForbidden, isNotFound } from '../../client/api-error.ts'
import { KopfError } from '../../errors.ts'
import type { OpenObject } from '../../kube/resources/resources.ts'
import type { WebhookContext } from '../../settings/webhook-server.ts'
import { noLongerNeeded } from '../../util/async/clock.ts'

export interface CertificateSecretName {
  readonly name: string
  readonly namespace: string
}

/** Where there is no watch, or it has ended. */
const pollMs = 60_000

export class SecretStore {
  readonly #secret: CertificateSecretName
  readonly #context: WebhookContext
  /** Of what was read or written last; undefined where there was nothing. */
  #version: string | undefined

  constructor(secret: CertificateSecretName, context: WebhookContext) {
    this.#secret = secret
    this.#context = context
  }

  /** Undefined where there is none. */
  async read(): Promise<OpenObject | undefined> {
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

  /** Creates what has no version yet. False where somebody was faster. */
  async write(secret: Partial<OpenObject>): Promise<boolean> {
    const { namespace } = this.#secret
    const { client, signal } = this.#context
    const isNew = secret.metadata?.resourceVersion === undefined
    try {
      const written = await client[isNew ? 'create' : 'replace']('secrets', secret, { namespace, signal })
      this.#version = written.metadata.resourceVersion
      return true
    } catch (error) {
      if (isAlreadyExists(error) || isConflict(error) || (!isNew && isNotFound(error))) return false
      throw toSecretError(error, this.#secret)
    }
  }

  /** Until it is not as it was read or written last; at most so long, and where it cannot be watched, not for long. */
  async waitForChange(limitMs: number): Promise<void> {
    const { clock, signal } = this.#context
    const round = new AbortController()
    const stop = () => round.abort(noLongerNeeded)
    signal.addEventListener('abort', stop, { once: true })
    try {
      const watching = this.#watch(round.signal).catch(() => clock.sleep(pollMs, round.signal))
      await Promise.race([clock.sleep(limitMs, round.signal), watching])
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

/** Whether the server could not ask a webhook about it: perhaps one of those that are about to be served. */
export function isBlockedByWebhook(error: unknown): boolean {
  const reason = error instanceof KopfError ? (error.cause ?? error) : error
  return reason instanceof ApiError && reason.status >= 500 && reason.message.includes('failed calling webhook')
}

function toSecretError(error: unknown, { name, namespace }: CertificateSecretName): unknown {
  const advice = isForbidden(error)
    ? 'grant the operator "get", "watch" and "update" of this Secret, and "create" of secrets in its namespace'
    : isBlockedByWebhook(error)
      ? 'the webhooks that review secrets must leave out this one, by the label kopf.dev/webhook-service'
      : undefined
  if (advice === undefined) return error
  return new KopfError(
    'KOPF_WEBHOOK_SECRET',
    `Cannot keep the certificates of the webhooks in the Secret "${namespace}/${name}": ${(error as Error).message}; ${advice}`,
    { cause: error },
  )
}
