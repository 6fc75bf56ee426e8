/**
 * Maps a watched object to the owners that its change triggers: those that the user's function returns now, and those that it returned for the former
 * state, so that a former owner also sees the change. Remembers only the owners. Called by owned-and-watched.ts.
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
  /** The owners that the function returned last, by the uid of the watched object. No list is empty. */
  readonly #last = new Map<string, readonly MappedOwner[]>()

  constructor(ownersOf: (object: never) => unknown) {
    this.#ownersOf = ownersOf as (object: KubeObject) => unknown
  }

  /** Returns the owners before and after this state. Throws if the user's function throws or returns an invalid value; the former owners then stay. */
  map(object: KubeObject): readonly MappedOwner[] {
    const { uid = '', namespace } = object.metadata
    const owners = readOwners(this.#ownersOf(object), namespace)
    const before = this.#last.get(uid) ?? []
    if (owners.length > 0) this.#last.set(uid, owners)
    else this.#last.delete(uid)
    return distinct([...before, ...owners])
  }

  /** Called when the watched object is deleted. Returns its last owners. */
  forget({ metadata: { uid = '' } }: KubeObject): readonly MappedOwner[] {
    const before = this.#last.get(uid) ?? []
    this.#last.delete(uid)
    return before
  }
}

function readOwners(result: unknown, namespace: string | undefined): readonly MappedOwner[] {
  if (result === undefined || result === null) return []
  const keys: ReadonlyArray<OwnerKey | null | undefined> = Array.isArray(result) ? result : [result]
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
    'Cannot map a watched object to its owners: a function in "watches" must return a name, { name, namespace }, or a list of them',
  )
}

function distinct(owners: readonly MappedOwner[]): readonly MappedOwner[] {
  return [...new Map(owners.map((owner) => [`${owner.namespace ?? ''}/${owner.name}`, owner])).values()]
}
