/**
 * Who is registered, and for what. Filled before the operator starts, asked for every event. Sorts handlers by the room
 * that their kind names; whom an event concerns is for select.ts to say.
 */
import { KopfError } from '../../errors.ts'
import type { Resource } from '../../kube/resources.ts'
import { formatResource, type ResourceSelector } from '../../kube/selectors.ts'
import type { Handler } from './handler.ts'
import { kindOf, type Room } from './kinds.ts'

type ObjectRoom = Exclude<Room, 'activity'>

/** The handlers of one resource, by room, in the order of registration. */
export type ResourceHandlers = { readonly [R in ObjectRoom]: readonly Handler[] } & {
  /** The fields that handlers look at: they count as part of the object's essence wherever they are, in `status` too. */
  readonly extraFields: readonly (readonly string[])[]
  /** Sentences on different functions that came to one id by different selectors; they would share their progress. */
  readonly conflicts: readonly string[]
}

export class Registry {
  readonly #handlers: Handler[] = []

  /** By the description itself: when discovery makes a new one, more may have changed than its identity. */
  #byResource = new WeakMap<Resource, ResourceHandlers>()

  /** All of them, in the order of registration. */
  get handlers(): readonly Handler[] {
    return this.#handlers
  }

  /** Refuses a second function under the id of another one on the same resource. */
  add(handler: Handler): void {
    if (this.#handlers.includes(handler)) return
    const added = handler.selector === undefined ? this.#withFreeId(handler) : handler
    if (added === undefined) return
    this.#refuseTaken(added)
    this.#handlers.push(added)
    this.#byResource = new WeakMap()
  }

  /** Adds what another registry has; what both have is there once. */
  merge(other: Registry): void {
    for (const handler of other.#handlers) this.add(handler)
  }

  handlersFor(resource: Resource): ResourceHandlers {
    let found = this.#byResource.get(resource)
    if (found === undefined) {
      const handlers = this.#handlers.filter(({ selector }) => selector?.matches(resource))
      found = { ...byRoom(handlers), extraFields: fieldsOf(handlers), conflicts: conflictsOf(handlers, resource) }
      this.#byResource.set(resource, found)
    }
    return found
  }

  /** `startup`, `cleanup`: those without a resource. */
  activities(kind: string): readonly Handler[] {
    return this.#handlers.filter((handler) => handler.kind === kind && kindOf(handler)?.room === 'activity')
  }

  /** One for each way of naming resources: what has to be looked for in the cluster. */
  selectors(): ResourceSelector[] {
    const found: ResourceSelector[] = []
    for (const { selector } of this.#handlers) {
      if (selector !== undefined && !found.some((other) => isSame(other, selector))) found.push(selector)
    }
    return found
  }

  /**
   * The ids of activities are stored nowhere, and every file of an operator may have its own `configure`:
   * those that come later are numbered. Undefined where the same function is there already.
   */
  #withFreeId(handler: Handler): Handler | undefined {
    const activities = this.activities(handler.kind)
    const isSameId = (id: string) => id === handler.id || id.startsWith(`${handler.id}/`)
    if (activities.some(({ id, fn }) => fn === handler.fn && isSameId(id))) return undefined
    let id = handler.id
    for (let number = 2; activities.some((other) => other.id === id); number += 1) id = `${handler.id}/${number}`
    return id === handler.id ? handler : { ...handler, id }
  }

  #refuseTaken({ kind, id, fn, selector }: Handler): void {
    if (selector === undefined) return
    const taken = this.#handlers.find(
      (other) => other.id === id && other.fn !== fn && other.selector !== undefined && isSame(other.selector, selector),
    )
    if (taken === undefined) return
    throw new KopfError(
      'KOPF_HANDLER_ID',
      `Cannot register a second "${kind}" handler with the id "${id}" for ${selector}: ` +
        `progress is stored under the id; give one of them an id of its own, such as { id: "${id}-2" }`,
    )
  }
}

/** By their text, in which all notations of one name are the same; functions have none that would tell them apart. */
function isSame(a: ResourceSelector, b: ResourceSelector): boolean {
  return a.fn === b.fn && String(a) === String(b)
}

function byRoom(handlers: readonly Handler[]): { readonly [R in ObjectRoom]: readonly Handler[] } {
  const rooms: Record<ObjectRoom, Handler[]> = { event: [], change: [] }
  for (const handler of handlers) {
    const room = kindOf(handler)?.room
    if (room !== undefined && room !== 'activity') rooms[room].push(handler)
  }
  return rooms
}

function fieldsOf(handlers: readonly Handler[]): readonly (readonly string[])[] {
  const fields = new Map<string, readonly string[]>()
  for (const { field } of handlers) {
    if (field !== undefined) fields.set(JSON.stringify(field), field)
  }
  return [...fields.values()]
}

function conflictsOf(handlers: readonly Handler[], resource: Resource): readonly string[] {
  const firsts = new Map<string, Handler>()
  const conflicts = new Set<string>()
  for (const handler of handlers) {
    const first = firsts.get(handler.id)
    if (first === undefined) firsts.set(handler.id, handler)
    else if (first.fn !== handler.fn) {
      conflicts.add(
        `Two handlers of ${formatResource(resource)} have the id "${handler.id}", one for ${first.selector} and one for ` +
          `${handler.selector}: progress is stored under the id; give one of them an id of its own`,
      )
    }
  }
  return [...conflicts]
}
