/**
 * Records the resource versions in the responses to the test's own requests. A wait begins with the state that the test has last
 * seen, so that it misses no later state and does not mistake an earlier one for a new one.
 */
import type { ApiCall, Session } from '../../client/session.ts'
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { laterVersion } from '../../watching/resource-version.ts'

/**
 * The last version of an object that the test has received. After a deletion it is the uid of the deleted object: such responses
 * contain no version.
 */
export type SeenObject = { readonly version: string } | { readonly deletedUid: string }

export interface ObjectAddress {
  /** The path of the resource without a namespace, for example `/api/v1/pods`. */
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
  /** By the object's name, then by collection and namespace. */
  readonly #objects = new Map<string, Map<string, SeenEntry>>()
  #latest: string | undefined
  #floor: string | undefined

  /** The highest version in any response: the last step of the test. */
  get latest(): string | undefined {
    return this.#latest
  }

  /** All waits ignore states before this version. */
  get floor(): string | undefined {
    return this.#floor
  }

  /** The recorded objects of this name, in all resources and namespaces; all recorded objects if the name is undefined. */
  entries(name: string | undefined): SeenEntry[] {
    if (name !== undefined) return [...(this.#objects.get(name)?.values() ?? [])]
    return [...this.#objects.values()].flatMap((entries) => [...entries.values()])
  }

  record(address: ObjectAddress, seen: SeenObject): void {
    const { collection, namespace = '', name } = address
    const entries = this.#objects.get(name) ?? new Map<string, SeenEntry>()
    this.#objects.set(name, entries.set(`${collection} ${namespace}`, { address, seen }))
    if ('version' in seen) this.advanceTo(seen.version)
  }

  advanceTo(version: string): void {
    this.#latest = laterVersion(this.#latest, version)
  }

  /**
   * Called after the test has synchronised with the whole cluster (`settled`, `clock.advance`): later waits ignore earlier
   * states.
   */
  sync(version: string): void {
    this.advanceTo(version)
    this.#floor = laterVersion(this.#floor, version)
  }

  recordResponse({ method, path, query }: ApiCall, response: JsonObject): void {
    if (query?.['dryRun'] !== undefined) return
    const metadata = isPlainObject(response['metadata']) ? response['metadata'] : {}
    const address = toAddress(path, method === 'POST' ? textOf(metadata['name']) : undefined)
    const version = textOf(metadata['resourceVersion'])
    const deletedUid =
      method === 'DELETE' && isPlainObject(response['details']) ? textOf(response['details']['uid']) : undefined
    if (address !== undefined && deletedUid !== undefined) this.record(address, { deletedUid })
    else if (address !== undefined && version !== undefined) this.record(address, { version })
    else if (version !== undefined) this.advanceTo(version)
  }
}

/** The session of the test's own client: the versions in all responses are recorded. */
export function recordingSession(session: Session, lastSeen: LastSeen): Session {
  return {
    stream: (call, signal) => session.stream(call, signal),
    async request(call, signal) {
      const response = await session.request(call, signal)
      lastSeen.recordResponse(call, response)
      return response
    },
  }
}

const objectPath = /^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/[^/]+)?$/

/** Undefined for the path of a collection, unless the name of the created object is given. */
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
