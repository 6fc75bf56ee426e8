/**
 * The names of the annotations for handlers and for fixed records, exactly as Kopf forms them: objects change hands between
 * the two. V2 is the current form; V1, with its tighter limit, is what older versions of Kopf read. Used by the storages.
 */
import { blake2b } from '@noble/hashes/blake2.js'
import { KopfError } from '../../errors.ts'
import { resolvePath } from '../../util/paths.ts'

/** Kubernetes' limit for the name of an annotation, without the prefix. V1 took it to be for both. */
const maxLength = 63

/** What Kubernetes takes for the name of an annotation. */
const validName = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/

export interface AnnotationKeysOptions {
  readonly prefix: string
  /** Whether the legacy form is read and written too. */
  readonly v1: boolean
}

interface Keys {
  readonly readable: readonly string[]
  readonly writable: readonly string[]
}

/** The annotations of one storage. */
export class AnnotationKeys {
  readonly prefix: string
  readonly v1: boolean

  /** Hashing is slow, and the same few keys are asked for with every event. */
  readonly #known = new Map<string, Keys>()

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

  /** Where a record may be, the preferred place first. */
  readable(key: string, body: object): readonly string[] {
    return this.#keysOf(markKey(key, body)).readable
  }

  /** Where a record goes: without the V1 names that a long prefix leaves nothing valid of, which the API would refuse. */
  writable(key: string, body: object): readonly string[] {
    return this.#keysOf(markKey(key, body)).writable
  }

  #keysOf(key: string): Keys {
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const keys = this.#makeKeys(key)
    // Ids of sub-handlers may be made up per object; they must not pile up here.
    if (this.#known.size >= 1000) this.#known.clear()
    this.#known.set(key, keys)
    return keys
  }

  #makeKeys(key: string): Keys {
    const v2 = makeV2Key(this.prefix, key)
    const v1 = makeV1Key(this.prefix, key)
    if (!this.v1 || v1 === v2) return { readable: [v2], writable: [v2] }
    const isWritable = validName.test(v1.slice(this.prefix.length + 1))
    return { readable: [v2, v1], writable: isWritable ? [v2, v1] : [v2] }
  }
}

/** Deployments hand their annotations down to their ReplicaSets, whose own records must not be overwritten by that. */
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
  const room = maxLength - prefix.length - 1
  const suffix = safe.length > room ? makeSuffix(safe) : ''
  // With a long prefix the end is negative and counts from the back: Kopf does so too, and the names have to agree.
  return `${prefix}/${safe.slice(0, room - suffix.length)}${suffix}`
}

function makeSafe(key: string): string {
  return key.replaceAll('/', '.').replace(/[<>]/g, '_')
}

function makeSuffix(key: string): string {
  const digest = blake2b(new TextEncoder().encode(key), { dkLen: 4 })
  const letters = btoa(String.fromCharCode(...digest))
  return `-${letters.replaceAll('+', '-').replaceAll('/', '.')}`.replace(/[=\-.]+$/, '')
}
