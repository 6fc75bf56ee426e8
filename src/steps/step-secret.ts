/**
 * Reads the Secret with the keys that sign the results of steps, and creates or fills it if it is missing or empty. Replicas that do so at the same time get
 * the same keys, since each write has the resourceVersion that was read. Messages never contain the content. Called by step-keys.ts.
 */
import { ApiError, isNotFound } from '../client/api-error.ts'
import { collectionPath, type Located, objectPath } from '../client/paths.ts'
import type { Session } from '../client/session.ts'
import { TemporaryError } from '../errors.ts'
import type { KubeObject } from '../kube/objects.ts'
import { objectName } from '../settings/checks.ts'
import { getOwn, isPlainObject } from '../util/json/json.ts'
import { createKey, keyBytes } from '../util/text/macs.ts'

export interface StepSecretName {
  readonly name: string
  readonly namespace: string
}

/** The keys in the Secret, newest first, with the names of entries that are too short; or why the Secret cannot be used. */
export type FoundKeys =
  | {
      readonly type: 'found'
      readonly keys: readonly [Uint8Array, ...Uint8Array[]]
      readonly ignored: readonly string[]
    }
  | { readonly type: 'unusable'; readonly why: string }

const secrets: Located = { group: '', version: 'v1', plural: 'secrets', namespaced: true }

/** For the metrics of requests. */
const facts = { purpose: 'steps', resource: secrets } as const

/** The maximum number of attempts. Replicas that start together need two; more only if another client keeps writing the Secret. */
const maxRounds = 5

/** The name of the Secret if `settings.steps.secret` is not set. */
export function stepSecretName(operator: string | undefined): string {
  return objectName.accept(`${operator}-steps`) !== undefined && operator !== undefined
    ? `${operator}-steps`
    : 'kopf-steps'
}

export class StepSecret {
  readonly #session: Session
  readonly #place: StepSecretName
  readonly #signal: AbortSignal

  constructor(session: Session, place: StepSecretName, signal: AbortSignal) {
    this.#session = session
    this.#place = place
    this.#signal = signal
  }

  /** Reads the keys, and creates them if there are none. Rejects with a temporary error if a retry may succeed. */
  async open(): Promise<FoundKeys> {
    for (let round = 0; round < maxRounds; round += 1) {
      const found = await this.#try()
      if (found !== undefined) return found
    }
    throw new TemporaryError(`Cannot fill the Secret ${this}: other clients changed it at the same time`, { delay: 5 })
  }

  /** The namespace and name, quoted for messages. */
  toString(): string {
    return JSON.stringify(`${this.#place.namespace}/${this.#place.name}`)
  }

  /** Returns undefined if the Secret was just filled, by this or by another replica, and has to be read again. */
  async #try(): Promise<FoundKeys | undefined> {
    try {
      const secret = await this.#read()
      const found = readKeys(secret)
      if (found !== undefined) return found
      await this.#fill(secret)
      return undefined
    } catch (error) {
      if (error instanceof ApiError && isRaceLost(error)) return undefined
      const why = describeRefusal(error)
      if (error instanceof ApiError && isFinal(error)) return { type: 'unusable', why }
      this.#signal.throwIfAborted()
      throw new TemporaryError(`Cannot read the keys for the results of steps in the Secret ${this}: ${why}`, {
        delay: 5,
      })
    }
  }

  async #read(): Promise<KubeObject | undefined> {
    try {
      const call = { method: 'GET', path: objectPath(secrets, this.#place), ...facts } as const
      return (await this.#session.request(call, this.#signal)) as unknown as KubeObject
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  async #fill(secret: KubeObject | undefined): Promise<void> {
    const { name, namespace } = this.#place
    const data = { 'key-1': Buffer.from(createKey()).toString('base64') }
    const empty = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: { name, namespace } }
    const call =
      secret === undefined
        ? ({ method: 'POST', path: collectionPath(secrets, namespace), body: { ...empty, data }, ...facts } as const)
        : ({ method: 'PUT', path: objectPath(secrets, this.#place), body: { ...secret, data }, ...facts } as const)
    await this.#session.request(call, this.#signal)
  }
}

/** Returns undefined if the Secret is missing or empty, and so may be filled. A Secret with other entries only is unusable: it is not changed. */
function readKeys(secret: KubeObject | undefined): FoundKeys | undefined {
  const data = secret?.['data']
  if (!isPlainObject(data) || Object.keys(data).length === 0) return undefined
  const names = Object.keys(data)
    .filter((name) => /^key-[1-9]\d{0,8}$/.test(name))
    .sort((a, b) => Number(b.slice(4)) - Number(a.slice(4)))
  const entries = names.map((name) => ({ name, bytes: Buffer.from(String(getOwn(data, name)), 'base64') }))
  const ignored = entries.filter(({ bytes }) => bytes.length < keyBytes).map(({ name }) => name)
  const [first, ...others] = entries.filter(({ bytes }) => bytes.length >= keyBytes).map(({ bytes }) => bytes)
  if (first !== undefined) return { type: 'found', keys: [first, ...others], ignored }
  return { type: 'unusable', why: `it has data, but no entry "key-1", "key-2", … of at least ${keyBytes} bytes` }
}

/** Another replica has created, filled or deleted the Secret in the meantime. */
function isRaceLost({ status, method }: ApiError): boolean {
  return status === 409 || (method === 'PUT' && status === 404)
}

/** A retry would be rejected too: no permission, no such namespace, or an immutable Secret. */
function isFinal({ status }: ApiError): boolean {
  return [400, 403, 404, 405, 413, 422].includes(status)
}

/** Leaves out the message of the server, which may quote the key that was sent. */
function describeRefusal(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
  const { method, status, reason } = error
  return `${method} was refused with ${[status, reason].filter((part) => part !== '').join(' ')}`
}
