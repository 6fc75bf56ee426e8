/**
 * Whom a watched object concerns, as the function of the user says: those it names now, and those it named last, so that nobody
 * keeps what is no longer so. Of each object only that is remembered. Fed by reconciling/sources/owned-and-watched.ts.
 */

import { KopfError } from '../../errors.ts'
import type { OwnerKey } from '../../handlers/args/args.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'

export interface MappedOwner {
  readonly namespace: string | undefined
  readonly name: string
}

export class WatchMapping {
  readonly #ownersOf: (object: KubeObject) => unknown
  /** By uid; none of the lists is empty. */
  readonly #last = new Map<string, readonly MappedOwner[]>()

  constructor(ownersOf: (object: never) => unknown) {
    this.#ownersOf = ownersOf as (object: KubeObject) => unknown
  }

  /** Throws what the function throws, and for what it should not have answered: then all is as it was. */
  note(object: KubeObject): readonly MappedOwner[] {
    const { uid = '', namespace } = object.metadata
    const owners = readOwners(this.#ownersOf(object), namespace)
    const before = this.#last.get(uid) ?? []
    if (owners.length > 0) this.#last.set(uid, owners)
    else this.#last.delete(uid)
    return distinct([...before, ...owners])
  }

  /** The object is gone. */
  forget({ metadata: { uid = '' } }: KubeObject): readonly MappedOwner[] {
    const before = this.#last.get(uid) ?? []
    this.#last.delete(uid)
    return before
  }
}

function readOwners(answer: unknown, namespace: string | undefined): readonly MappedOwner[] {
  if (answer === undefined || answer === null) return []
  const keys: ReadonlyArray<OwnerKey | null | undefined> = Array.isArray(answer) ? answer : [answer]
  return distinct(keys.filter((key) => key !== undefined && key !== null).map((key) => readOwner(key, namespace)))
}

function readOwner(key: unknown, namespace: string | undefined): MappedOwner {
  if (typeof key === 'string' && key !== '') return { namespace, name: key }
  if (isPlainObject(key) && typeof key['name'] === 'string' && key['name'] !== '') {
    const own = key['namespace']
    return { namespace: typeof own === 'string' && own !== '' ? own : namespace, name: key['name'] }
  }
  throw new KopfError(
    'KOPF_WATCHES',
    'Cannot tell whom an object concerns: a function in "watches" returns names, or { name, namespace }, or a list of them',
  )
}

function distinct(owners: readonly MappedOwner[]): readonly MappedOwner[] {
  return [...new Map(owners.map((owner) => [`${owner.namespace ?? ''}/${owner.name}`, owner])).values()]
}
