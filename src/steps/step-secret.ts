/**
 * The Secret with the keys that sign the results of steps: read, and filled where it is empty or absent. Several replicas may do so
 * at once; all end up with the same keys, since a write names the version that was read. Never says what the Secret holds.
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

/** The newest key first. */
export type FoundKeys =
  | {
      readonly type: 'found'
      readonly keys: readonly [Uint8Array, ...Uint8Array[]]
      readonly ignored: readonly string[]
    }
  | { readonly type: 'unusable'; readonly why: string }

const secrets: Located = { group: '', version: 'v1', plural: 'secrets', namespaced: true }

/** Replicas that start together need two rounds; more only if another client keeps writing the Secret. */
const maxRounds = 5

/** The default name, where `settings.steps.secret` has none. */
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

  /** Rejects with a temporary error where another attempt may succeed. */
  async open(): Promise<FoundKeys> {
    for (let round = 0; round < maxRounds; round += 1) {
      const found = await this.#try()
      if (found !== undefined) return found
    }
    throw new TemporaryError(`Cannot fill the Secret ${this}: it was changed by others at the same time`, { delay: 5 })
  }

  /** Where it is, for people. */
  toString(): string {
    return JSON.stringify(`${this.#place.namespace}/${this.#place.name}`)
  }

  /** Undefined where another replica was faster, and the Secret has to be read again. */
  async #try(): Promise<FoundKeys | undefined> {
    try {
      const secret = await this.#read()
      const found = readKeys(secret)
      if (found !== undefined) return found
      await this.#fill(secret)
      return undefined
    } catch (error) {
      if (error instanceof ApiError && isOutrun(error)) return undefined
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
      const call = { method: 'GET', path: objectPath(secrets, this.#place) } as const
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
        ? ({ method: 'POST', path: collectionPath(secrets, namespace), body: { ...empty, data } } as const)
        : ({ method: 'PUT', path: objectPath(secrets, this.#place), body: { ...secret, data } } as const)
    await this.#session.request(call, this.#signal)
  }
}

/** Undefined where there is nothing in the Secret yet. Other entries are left alone, and so is a Secret with nothing but those. */
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

/** Another replica has created or filled the Secret meanwhile. */
function isOutrun({ status, method }: ApiError): boolean {
  return status === 409 || (method === 'PUT' && status === 404)
}

/** The same request would be refused again: no permission, no such namespace, an immutable Secret. */
function isFinal({ status }: ApiError): boolean {
  return [400, 403, 404, 405, 413, 422].includes(status)
}

/** Not the server's own words: they may quote what was sent, and that is a key. */
function describeRefusal(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
  const { method, status, reason } = error
  return `${method} was refused with ${[status, reason].filter((part) => part !== '').join(' ')}`
}
