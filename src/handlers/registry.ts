/**
 * The registered handlers of an operator, grouped by resource and category. Filled before the operator starts, read for every event.
 * matching.ts decides which of them an event concerns.
 */
import { KopfError } from '../errors.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource, type ResourceSelector } from '../kube/resources/selectors.ts'
import { setOwn } from '../util/json/json.ts'
import type { Handler, HandlerCategory, HandlerOf } from './handler.ts'
import type { ActivityType } from './handler-types.ts'
import type { Index, IndexTable } from './index-table.ts'

type HandlersByCategory = { readonly [C in Exclude<HandlerCategory, 'activity'>]: readonly HandlerOf<C>[] }

/** The handlers of one resource, by category, in the order of registration. */
export type ResourceHandlers = HandlersByCategory & {
  /** The fields of handlers: they count as a part of the object's essence wherever they are, even in `status`. */
  readonly extraFields: readonly (readonly string[])[]
  /** Warnings about different functions that have the same id by different selectors: they would share their progress. */
  readonly conflicts: readonly string[]
}

export class Registry {
  readonly #handlers: Handler[] = []

  /** By the resource of discovery, not by its name: a new description of the same resource may match other selectors. */
  #byResource = new WeakMap<Resource, ResourceHandlers>()

  /** All handlers, in the order of registration. */
  get handlers(): readonly Handler[] {
    return this.#handlers
  }

  /** Throws if another function has the same id for the same resource. */
  add(handler: Handler): Handler {
    return this.#append(handler, true)
  }

  /** Adds the handlers of another registry; shared handlers are added once. Indices keep their tables, which are in use already. */
  merge(other: Registry): void {
    for (const handler of other.#handlers) this.#append(handler, false)
  }

  #append(handler: Handler, isNew: boolean): Handler {
    if (this.#handlers.some((other) => isSameHandler(other, handler))) return handler
    const numbered = handler.definition.numbersIds?.(handler) ? this.#withFreeId(handler) : handler
    if (numbered === undefined) return handler
    const added = isNew ? this.#withSharedIndex(numbered) : numbered
    this.#checkDuplicates(added)
    this.#handlers.push(added)
    this.#byResource = new WeakMap()
    return added
  }

  /** Functions with the same id fill one index. */
  #withSharedIndex(handler: Handler): Handler {
    const index = this.indexTables.get(handler.id)?.[0]
    return handler.category !== 'index' || index === undefined ? handler : { ...handler, index }
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

  /** The handlers of the operator itself. */
  activities(type: ActivityType): readonly Handler[] {
    return this.#handlers.filter((handler) => handler.type === type && handler.category === 'activity')
  }

  /** The indices by id: several functions may fill one index, from different resources. */
  get indices(): Readonly<Record<string, Index<unknown, unknown>>> {
    const indices: Record<string, IndexTable> = Object.create(null)
    for (const [id, [table]] of this.indexTables) setOwn(indices, id, table!)
    return Object.freeze(indices)
  }

  /** The tables by index id: one, or one per merged operator that has an index with this id. */
  get indexTables(): ReadonlyMap<string, readonly IndexTable[]> {
    const tables = new Map<string, readonly IndexTable[]>()
    for (const handler of this.#handlers) {
      if (handler.category !== 'index') continue
      tables.set(handler.id, [...new Set(tables.get(handler.id)).add(handler.index)])
    }
    return tables
  }

  /** All distinct selectors: the resources that discovery has to find. */
  selectors(): ResourceSelector[] {
    return distinct([...this.#handlers.map(({ selector }) => selector), ...this.relatedSelectors])
  }

  /** Selectors of resources that are watched besides the handlers' own: children and watched resources of reconcilers. */
  get relatedSelectors(): ResourceSelector[] {
    return distinct(this.#handlers.flatMap((handler) => handler.definition.relatedSelectors?.(handler) ?? []))
  }

  /** Selectors of resources whose objects are watched for their own handlers. */
  get watchedSelectors(): ResourceSelector[] {
    const watching = this.#handlers.filter(({ definition }) => !definition.isWebhook)
    return distinct(watching.map(({ selector }) => selector))
  }

  /** Handlers that the API server calls: admission and conversion. */
  get webhookHandlers(): readonly Handler[] {
    return this.#handlers.filter(({ definition }) => definition.isWebhook)
  }

  /** Selectors of all webhook handlers. */
  get webhookSelectors(): ResourceSelector[] {
    return distinct(this.webhookHandlers.map(({ selector }) => selector))
  }

  /** The handlers of one category, for all resources. */
  ofCategory<C extends HandlerCategory>(category: C): readonly HandlerOf<C>[] {
    return this.#handlers.filter((handler): handler is HandlerOf<C> => handler.category === category)
  }

  /** Appends a number to the id if it is taken. Undefined if the same activity is registered already. */
  #withFreeId(handler: Handler): Handler | undefined {
    const peers = this.#handlers.filter(({ type }) => type === handler.type)
    const isSameId = (id: string) => id === handler.id || id.startsWith(`${handler.id}/`)
    const isThere = peers.some(({ id, fn }) => fn === handler.fn && isSameId(id))
    if (isThere && handler.category !== 'index') return undefined
    let id = handler.id
    for (let number = 2; peers.some((other) => other.id === id); number += 1) id = `${handler.id}/${number}`
    return id === handler.id ? handler : { ...handler, id }
  }

  #checkDuplicates(handler: Handler): void {
    const { type, id, selector } = handler
    if (selector === undefined) return
    const taken = this.#handlers.find(
      (other) => isDuplicate(other, handler) && other.selector !== undefined && isSame(other.selector, selector),
    )
    if (taken === undefined) return
    throw new KopfError(
      'KOPF_HANDLER_ID',
      `Cannot register a second "${type}" handler with the id "${id}" for ${selector}: ` +
        `${handler.definition.idPurpose}; give one of them an id of its own, such as { id: "${id}-2" }`,
    )
  }
}

/** A numbered index is another record of the same handler. */
function isSameHandler(a: Handler, b: Handler): boolean {
  if (a === b) return true
  if (a.category !== 'index' || b.category !== 'index') return false
  return a.index === b.index && a.fn === b.fn && a.selector === b.selector
}

/** Whether two handlers cannot have the ids they have. Ids that serve different purposes are independent. */
function isDuplicate(a: Handler, b: Handler): boolean {
  if (a.definition.idPurpose !== b.definition.idPurpose) return false
  return a.definition.isDuplicate?.(a, b) ?? (a.fn !== b.fn && a.id === b.id)
}

function distinct(selectors: ReadonlyArray<ResourceSelector | undefined>): ResourceSelector[] {
  const found: ResourceSelector[] = []
  for (const selector of selectors) {
    if (selector !== undefined && !found.some((other) => isSame(other, selector))) found.push(selector)
  }
  return found
}

/** Compares the texts of selectors: all notations of one resource have the same text. Functions have no text and are compared themselves. */
function isSame(a: ResourceSelector, b: ResourceSelector): boolean {
  return a.fn === b.fn && String(a) === String(b)
}

function byCategory(handlers: readonly Handler[]): HandlersByCategory {
  const groups: Record<Exclude<HandlerCategory, 'activity'>, Handler[]> = {
    index: [],
    event: [],
    change: [],
    background: [],
    reconcile: [],
    admission: [],
    conversion: [],
  }
  for (const handler of handlers) if (handler.category !== 'activity') groups[handler.category].push(handler)
  return groups as HandlersByCategory
}

/** The fields that count as a part of the essence. Indices, reconcilers and reviews do not change what counts as a change. */
function fieldsOf(handlers: readonly Handler[]): readonly (readonly string[])[] {
  const fields = new Map<string, readonly string[]>()
  for (const { field, definition } of handlers) {
    if (field !== undefined && definition.hasEssentialField) fields.set(JSON.stringify(field), field)
  }
  return [...fields.values()]
}

function conflictsOf(handlers: readonly Handler[], resource: Resource): readonly string[] {
  const conflicts = handlers.flatMap((handler, position) => {
    const first = handlers.slice(0, position).find((other) => isDuplicate(other, handler))
    if (first === undefined) return []
    return [
      `Two handlers of ${formatResource(resource)} have the id "${handler.id}", one for ${first.selector} and one for ` +
        `${handler.selector}: ${handler.definition.idPurpose}; give one of them an id of its own`,
    ]
  })
  return [...new Set(conflicts)]
}
