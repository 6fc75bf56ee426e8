/**
 * Builds the names of annotations for handlers and fixed records exactly as Kopf does, so that both frameworks can continue each
 * other's work. V2 is the current form. V1, with a shorter limit, is read by older versions of Kopf. Used by the storages.
 */
import { blake2b } from '@noble/hashes/blake2.js'
import { KopfError } from '../errors.ts'
import { resolvePath } from '../util/json/paths.ts'

/** Kubernetes' limit for the name of an annotation, without the prefix. V1 applied it to prefix and name together. */
const maxLength = 63

/** The names that Kubernetes accepts for an annotation, without the prefix. */
const validName = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/

export interface AnnotationKeysOptions {
  readonly prefix: string
  /** Whether the legacy form is read and written too. */
  readonly v1: boolean
}

interface KeyVersions {
  readonly readable: readonly string[]
  readonly writable: readonly string[]
}

/** The annotations of one storage. */
export class AnnotationKeys {
  readonly prefix: string
  readonly v1: boolean

  /** A cache: hashing is slow, and every event needs the same few keys. */
  readonly #known = new Map<string, KeyVersions>()

  constructor({ prefix, v1 }: AnnotationKeysOptions) {
    if (prefix === '') {
      throw new KopfError(
        'KOPF_STORAGE_PREFIX',
        'Cannot make a storage in annotations: the prefix is empty; give it the domain of the operator, as "example.com"',
      )
    }
    this.prefix = prefix
    this.v1 = v1
  }

  /** The annotations to read a record from, in order of preference. */
  readable(key: string, body: object): readonly string[] {
    return this.#keysOf(markKey(key, body)).readable
  }

  /** The annotations to write a record to. Excludes V1 names that are invalid because of a long prefix: the API would reject them. */
  writable(key: string, body: object): readonly string[] {
    return this.#keysOf(markKey(key, body)).writable
  }

  #keysOf(key: string): KeyVersions {
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const keys = this.#makeKeys(key)
    // Ids of sub-handlers may differ per object, so the cache must not grow without a limit.
    if (this.#known.size >= 1000) this.#known.clear()
    this.#known.set(key, keys)
    return keys
  }

  #makeKeys(key: string): KeyVersions {
    const v2 = makeV2Key(this.prefix, key)
    const v1 = makeV1Key(this.prefix, key)
    if (!this.v1 || v1 === v2) return { readable: [v2], writable: [v2] }
    const isWritable = validName.test(v1.slice(this.prefix.length + 1))
    return { readable: [v2, v1], writable: isWritable ? [v2, v1] : [v2] }
  }
}

/** Deployments copy their annotations to their ReplicaSets. A different key keeps the copies from replacing the ReplicaSets' own records. */
function markKey(key: string, body: object): string {
  if ((body as { kind?: unknown }).kind !== 'ReplicaSet') return key
  const owners = resolvePath(body, ['metadata', 'ownerReferences'])
  const isOfDeployment = Array.isArray(owners) && owners.some((owner) => resolvePath(owner, ['kind']) === 'Deployment')
  return isOfDeployment ? `${key}-ofDRS` : key
}

export function makeV2Key(prefix: string, key: string): string {
  const suffix = key.length > maxLength ? makeSuffix(key) : ''
  return `${prefix}/${makeSafe(key).slice(0, maxLength - suffix.length)}${suffix}`
}

export function makeV1Key(prefix: string, key: string): string {
  const safe = makeSafe(key)
  const maxName = maxLength - prefix.length - 1
  const suffix = safe.length > maxName ? makeSuffix(safe) : ''
  // With a long prefix, the end of the slice is negative and counts from the back. Kopf does the same, and the names must be equal.
  return `${prefix}/${safe.slice(0, maxName - suffix.length)}${suffix}`
}

function makeSafe(key: string): string {
  return key.replaceAll('/', '.').replace(/[<>]/g, '_')
}

function makeSuffix(key: string): string {
  const digest = blake2b(new TextEncoder().encode(key), { dkLen: 4 })
  const letters = btoa(String.fromCharCode(...digest))
  return `-${letters.replaceAll('+', '-').replaceAll('/', '.')}`.replace(/[=\-.]+$/, '')
}
