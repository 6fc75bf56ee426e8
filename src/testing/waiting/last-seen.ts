/**
 * What the test itself has learnt of the cluster: the versions in the answers to its own requests. A wait begins with the state that
 * the test last saw, so that no later state is missed, and no earlier one is taken for news.
 */
import type { ApiCall, Session } from '../../client/session.ts'
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { laterVersion } from '../../watching/resource-version.ts'

/** A version that the test got of an object; or, after its deletion, the uid of the deleted object: such answers have no version. */
export type SeenObject = { readonly version: string } | { readonly deletedUid: string }

export interface ObjectAddress {
  /** The path of the resource without a namespace: `/api/v1/pods`. */
  readonly collection: string
  /** Undefined for cluster-scoped objects. */
  readonly namespace: string | undefined
  readonly name: string
}

export interface SeenEntry {
  readonly address: ObjectAddress
  readonly seen: SeenObject
}

export class LastSeen {
  /** By the name of the object, then by its whole address. */
  readonly #objects = new Map<string, Map<string, SeenEntry>>()
  #latest: string | undefined
  #floor: string | undefined

  /** The highest version in any answer: the last step of the test. */
  get latest(): string | undefined {
    return this.#latest
  }

  /** States before this version are over for all waits. */
  get floor(): string | undefined {
    return this.#floor
  }

  /** What is known now of the objects of this name, in all resources and namespaces; undefined for all objects. */
  entries(name: string | undefined): SeenEntry[] {
    if (name !== undefined) return [...(this.#objects.get(name)?.values() ?? [])]
    return [...this.#objects.values()].flatMap((entries) => [...entries.values()])
  }

  note(address: ObjectAddress, seen: SeenObject): void {
    const { collection, namespace = '', name } = address
    const entries = this.#objects.get(name) ?? new Map<string, SeenEntry>()
    this.#objects.set(name, entries.set(`${collection} ${namespace}`, { address, seen }))
    if ('version' in seen) this.reach(seen.version)
  }

  reach(version: string): void {
    this.#latest = laterVersion(this.#latest, version)
  }

  /** The test has synchronised with the whole cluster. */
  sync(version: string): void {
    this.reach(version)
    this.#floor = laterVersion(this.#floor, version)
  }

  takeAnswer({ method, path, query }: ApiCall, answer: JsonObject): void {
    if (query?.['dryRun'] !== undefined) return
    const metadata = isPlainObject(answer['metadata']) ? answer['metadata'] : {}
    const address = toAddress(path, method === 'POST' ? textOf(metadata['name']) : undefined)
    const version = textOf(metadata['resourceVersion'])
    const deletedUid =
      method === 'DELETE' && isPlainObject(answer['details']) ? textOf(answer['details']['uid']) : undefined
    if (address !== undefined && deletedUid !== undefined) this.note(address, { deletedUid })
    else if (address !== undefined && version !== undefined) this.note(address, { version })
    else if (version !== undefined) this.reach(version)
  }
}

/** The session of the test: each answer is noted. */
export function notingSession(session: Session, lastSeen: LastSeen): Session {
  return {
    stream: (call, signal) => session.stream(call, signal),
    async request(call, signal) {
      const answer = await session.request(call, signal)
      lastSeen.takeAnswer(call, answer)
      return answer
    },
  }
}

const objectPath = /^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/[^/]+)?$/

/** Undefined for the path of a collection, unless the name of a new object in it is given. */
function toAddress(path: string, newName: string | undefined): ObjectAddress | undefined {
  const [, root, namespace, plural, segment] = objectPath.exec(path) ?? []
  const name = segment ?? newName
  if (root === undefined || plural === undefined || name === undefined) return undefined
  return {
    collection: `${root}/${plural}`,
    namespace: namespace === undefined ? undefined : decodeURIComponent(namespace),
    name: decodeURIComponent(name),
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
