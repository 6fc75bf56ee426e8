/**
 * Who is registered, and for what. Filled before the operator starts, asked for every event. Sorts handlers by the room
 * that their type names; whom an event concerns is for matching.ts to say.
 */
import { KopfError } from '../errors.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource, type ResourceSelector } from '../kube/resources/selectors.ts'
import { setOwn } from '../util/json/json.ts'
import { nameOf } from './create-handler.ts'
import type { Handler } from './handler.ts'
import { type ActivityType, type HandlerCategory, handlerTypeOf } from './handler-types.ts'
import type { Index, IndexTable } from './index-table.ts'

type ObjectCategory = Exclude<HandlerCategory, 'activity'>

/** The handlers of one resource, by room, in the order of registration. */
export type ResourceHandlers = { readonly [R in ObjectCategory]: readonly Handler[] } & {
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
  add(handler: Handler): Handler {
    return this.#append(handler, true)
  }

  /** Adds what another registry has; what both have is there once. Its indices are in use already: they stay what they are. */
  merge(other: Registry): void {
    for (const handler of other.#handlers) this.#append(handler, false)
  }

  #append(handler: Handler, isNew: boolean): Handler {
    if (this.#handlers.some((other) => isSameHandler(other, handler))) return handler
    const numbered = isNumbered(handler) ? this.#withFreeId(handler) : handler
    if (numbered === undefined) return handler
    const index = isNew ? this.indexTables.get(numbered.id)?.[0] : undefined
    const added = numbered.index === undefined || index === undefined ? numbered : { ...numbered, index }
    this.#refuseTaken(added)
    this.#handlers.push(added)
    this.#byResource = new WeakMap()
    return added
  }

  handlersFor(resource: Resource): ResourceHandlers {
    let found = this.#byResource.get(resource)
    if (found === undefined) {
      const handlers = this.#handlers.filter(({ selector }) => selector?.matches(resource))
      found = { ...byCategory(handlers), extraFields: fieldsOf(handlers), conflicts: conflictsOf(handlers, resource) }
      this.#byResource.set(resource, found)
    }
    return found
  }

  /** Those without a resource. */
  activities(type: ActivityType): readonly Handler[] {
    return this.#handlers.filter((handler) => handler.type === type && handlerTypeOf(handler)?.category === 'activity')
  }

  /** By id: several functions may fill one index, from different resources. */
  get indices(): Readonly<Record<string, Index<unknown, unknown>>> {
    const indices: Record<string, IndexTable> = Object.create(null)
    for (const [id, [table]] of this.indexTables) setOwn(indices, id, table!)
    return Object.freeze(indices)
  }

  /** What all functions of an id fill: one table, or one of each operator that brought the id along. */
  get indexTables(): ReadonlyMap<string, readonly IndexTable[]> {
    const tables = new Map<string, readonly IndexTable[]>()
    for (const { id, index } of this.#handlers) {
      if (index !== undefined) tables.set(id, [...new Set(tables.get(id)).add(index)])
    }
    return tables
  }

  /** One for each way of naming resources: what has to be looked for in the cluster. */
  selectors(): ResourceSelector[] {
    return distinct([...this.#handlers.map(({ selector }) => selector), ...this.relatedSelectors])
  }

  /** Of what is watched for those who reconcile others: their children, and what else concerns them. */
  get relatedSelectors(): ResourceSelector[] {
    return distinct(
      this.#handlers.flatMap(({ reconciling }) => [
        ...(reconciling?.owns ?? []),
        ...(reconciling?.watches ?? []).map(({ selector }) => selector),
      ]),
    )
  }

  /** Of those whose objects are to be watched: with handlers of their own. */
  get watchedSelectors(): ResourceSelector[] {
    return distinct(this.#handlers.filter((handler) => !isWebhookHandler(handler)).map(({ selector }) => selector))
  }

  /** Those that the API server calls, on its own account. */
  get asked(): readonly Handler[] {
    return this.#handlers.filter(isWebhookHandler)
  }

  /** Of those. */
  get askedSelectors(): ResourceSelector[] {
    return distinct(this.asked.map(({ selector }) => selector))
  }

  /** Undefined where the same activity is there already. */
  #withFreeId(handler: Handler): Handler | undefined {
    const peers = this.#handlers.filter(({ type }) => type === handler.type)
    const isSameId = (id: string) => id === handler.id || id.startsWith(`${handler.id}/`)
    const isThere = peers.some(({ id, fn }) => fn === handler.fn && isSameId(id))
    if (isThere && handler.index === undefined) return undefined
    let id = handler.id
    for (let number = 2; peers.some((other) => other.id === id); number += 1) id = `${handler.id}/${number}`
    return id === handler.id ? handler : { ...handler, id }
  }

  #refuseTaken(handler: Handler): void {
    const { type, id, selector } = handler
    if (selector === undefined) return
    const taken = this.#handlers.find(
      (other) => isDuplicate(other, handler) && other.selector !== undefined && isSame(other.selector, selector),
    )
    if (taken === undefined) return
    throw new KopfError(
      'KOPF_HANDLER_ID',
      `Cannot register a second "${type}" handler with the id "${id}" for ${selector}: ` +
        `${whatIdsAreFor(handler)}; give one of them an id of its own, such as { id: "${id}-2" }`,
    )
  }
}

/**
 * The ids of activities are stored nowhere, and every file of an operator may have its own `configure`; so are those of
 * indices, and functions without a name must not share one by chance. Those that come later are numbered.
 */
function isNumbered({ selector, index, id, type, fn }: Handler): boolean {
  return selector === undefined || (index !== undefined && id === type && nameOf(fn) === '')
}

/** An index that was numbered is another record, yet the same: it came here by two ways. */
function isSameHandler(a: Handler, b: Handler): boolean {
  return a === b || (a.index !== undefined && a.index === b.index && a.fn === b.fn && a.selector === b.selector)
}

/** Different functions under one id, or of one purpose. What has ids for other purposes has them apart. */
function isDuplicate(a: Handler, b: Handler): boolean {
  if (idsOf(a) !== idsOf(b)) return false
  // By the path alone nobody could tell whether the one that validates is meant, or the one that mutates.
  if (a.admission !== undefined && a.type !== b.type) return a.id === b.id
  if (a.fn === b.fn) return false
  if (a.conversion === undefined || b.conversion === undefined) return a.id === b.id
  return a.conversion.from === b.conversion.from && a.conversion.to === b.conversion.to
}

const purposes = {
  progress: 'progress is stored under the id',
  index: 'one would overwrite what the other has indexed',
  admission: 'the API server calls them by the id',
  conversion: 'there is one way from a version to another',
} as const

function idsOf({ index, admission, conversion }: Handler): keyof typeof purposes {
  if (index !== undefined) return 'index'
  if (admission !== undefined) return 'admission'
  return conversion === undefined ? 'progress' : 'conversion'
}

function whatIdsAreFor(handler: Handler): string {
  return purposes[idsOf(handler)]
}

function isWebhookHandler({ admission, conversion }: Handler): boolean {
  return admission !== undefined || conversion !== undefined
}

function distinct(selectors: ReadonlyArray<ResourceSelector | undefined>): ResourceSelector[] {
  const found: ResourceSelector[] = []
  for (const selector of selectors) {
    if (selector !== undefined && !found.some((other) => isSame(other, selector))) found.push(selector)
  }
  return found
}

/** By their text, in which all notations of one name are the same; functions have none that would tell them apart. */
function isSame(a: ResourceSelector, b: ResourceSelector): boolean {
  return a.fn === b.fn && String(a) === String(b)
}

function byCategory(handlers: readonly Handler[]): { readonly [R in ObjectCategory]: readonly Handler[] } {
  const rooms: Record<ObjectCategory, Handler[]> = {
    index: [],
    event: [],
    change: [],
    background: [],
    reconcile: [],
    admission: [],
    conversion: [],
  }
  for (const handler of handlers) {
    const room = handlerTypeOf(handler)?.category
    if (room !== undefined && room !== 'activity') rooms[room].push(handler)
  }
  return rooms
}

/** What is only indexed, reconciled or reviewed is no change for others. */
function fieldsOf(handlers: readonly Handler[]): readonly (readonly string[])[] {
  const fields = new Map<string, readonly string[]>()
  for (const handler of handlers) {
    const { field } = handler
    if (field !== undefined && handler.reconciling === undefined && idsOf(handler) === 'progress')
      fields.set(JSON.stringify(field), field)
  }
  return [...fields.values()]
}

function conflictsOf(handlers: readonly Handler[], resource: Resource): readonly string[] {
  const conflicts = handlers.flatMap((handler, position) => {
    const first = handlers.slice(0, position).find((other) => isDuplicate(other, handler))
    if (first === undefined) return []
    return [
      `Two handlers of ${formatResource(resource)} have the id "${handler.id}", one for ${first.selector} and one for ` +
        `${handler.selector}: ${whatIdsAreFor(handler)}; give one of them an id of its own`,
    ]
  })
  return [...new Set(conflicts)]
}
