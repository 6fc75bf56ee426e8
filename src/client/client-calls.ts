/** How each verb of `Client` is said to the API. The types, and what is promised, are in client.ts. */
import { KopfError } from '../errors.ts'
import { formatGroupVersion, type JsonObject, parseGroupVersion } from '../kube/objects.ts'
import type { Resource } from '../kube/resources.ts'
import { getOwn, isPlainObject } from '../util/json.ts'
import { isGone } from './api-error.ts'
import type { ApiCall } from './calls.ts'
import type { Client, ClientResource, CreateClientOptions } from './client.ts'
import { readEvents } from './client-events.ts'
import type {
  ApplyOptions,
  CallOptions,
  ClientEvent,
  DeleteOptions,
  GetOptions,
  PatchOptions,
  SelectionOptions,
  WatchOptions,
  WriteOptions,
} from './client-options.ts'
import { toSmallerPage } from './connection-error.ts'
import { collectionPath, objectPath } from './requests.ts'
import { toSelectionQuery } from './selector-texts.ts'

const pageSize = 500

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const

/** JSON is YAML, and this is the only name that apply has. */
const applyType = 'application/apply-patch+yaml'

/** An object to be written, its resource, and the options: the same, whichever of the two forms was used. */
interface Writing<O> {
  readonly resource: Resource
  readonly object: JsonObject
  readonly options: O
}

/** The methods as the interface has them, but for the types of objects, which are gone here. */
type Untyped = { readonly [K in keyof Client]: unknown }

export class ApiClient implements Untyped {
  readonly #options: CreateClientOptions

  constructor(options: CreateClientOptions) {
    this.#options = options
  }

  async get(like: ClientResource, name: string, options: GetOptions = {}): Promise<JsonObject> {
    const resource = await this.#resolve(like)
    const path = objectPath(
      resource,
      { name, namespace: this.#namespace(resource, name, options) },
      options.subresource,
    )
    return await this.#request({ method: 'GET', path }, options)
  }

  async list(like: ClientResource, options: SelectionOptions = {}): Promise<JsonObject[]> {
    const resource = await this.#resolve(like)
    const call = this.#selection(resource, options)
    try {
      return await this.#pages(resource, call, options, pageSize)
    } catch (error) {
      // The pages to come were of a version that is compacted by now; all at once there is nothing to be overtaken by.
      if (!isGone(error)) throw error
      return await this.#pages(resource, call, options, undefined)
    }
  }

  async create(...args: readonly unknown[]): Promise<JsonObject> {
    const { resource, object, options } = await this.#writing<WriteOptions>(args)
    const { subresource } = options
    const name = nameOf(object)
    const namespace = this.#namespace(resource, name ?? '', options, object)
    const path =
      subresource === undefined
        ? collectionPath(resource, namespace)
        : objectPath(resource, { name: needName(resource, object, 'create'), namespace }, subresource)
    return await this.#request({ method: 'POST', path, query: toWriteQuery(options), body: object }, options)
  }

  async patch(like: ClientResource, name: string, patch: object, options: PatchOptions = {}): Promise<JsonObject> {
    const resource = await this.#resolve(like)
    const path = objectPath(
      resource,
      { name, namespace: this.#namespace(resource, name, options) },
      options.subresource,
    )
    const contentType = patchTypes[options.type ?? (Array.isArray(patch) ? 'json' : 'merge')]
    return await this.#request(
      { method: 'PATCH', path, query: toWriteQuery(options), body: patch, contentType },
      options,
    )
  }

  async apply(...args: readonly unknown[]): Promise<JsonObject> {
    const { resource, object, options } = await this.#writing<ApplyOptions>(args)
    const fieldManager = options.fieldManager ?? this.#options.fieldManager ?? 'kopf'
    const query = { ...toWriteQuery({ ...options, fieldManager }), force: options.force }
    const path = this.#pathOf(resource, object, options, 'apply')
    return await this.#request({ method: 'PATCH', path, query, body: object, contentType: applyType }, options)
  }

  async replace(...args: readonly unknown[]): Promise<JsonObject> {
    const { resource, object, options } = await this.#writing<WriteOptions>(args)
    const path = this.#pathOf(resource, object, options, 'replace')
    return await this.#request({ method: 'PUT', path, query: toWriteQuery(options), body: object }, options)
  }

  async delete(like: ClientResource, name: string, options: DeleteOptions = {}): Promise<JsonObject | undefined> {
    const resource = await this.#resolve(like)
    const path = objectPath(resource, { name, namespace: this.#namespace(resource, name, options) })
    const body = toDeleteBody(options)
    const answer = await this.#request({ method: 'DELETE', path, ...(body === undefined ? {} : { body }) }, options)
    return answer['kind'] === 'Status' && answer['apiVersion'] === 'v1' ? undefined : answer
  }

  async *watch(
    like: ClientResource,
    options: WatchOptions = {},
  ): AsyncGenerator<ClientEvent<JsonObject>, void, undefined> {
    const resource = await this.#resolve(like)
    const { path, query } = this.#selection(resource, options)
    const { resourceVersion, timeoutSeconds, allowWatchBookmarks } = options
    const call: ApiCall = {
      method: 'GET',
      path,
      query: { ...query, watch: true, resourceVersion, timeoutSeconds, allowWatchBookmarks },
    }
    yield* readEvents(this.#options.session, call, options.signal ?? this.#options.signal)
  }

  async #pages(
    resource: Resource,
    { path, query }: Pick<ApiCall, 'path' | 'query'>,
    options: SelectionOptions,
    firstLimit: number | undefined,
  ): Promise<JsonObject[]> {
    const objects: JsonObject[] = []
    let limit = firstLimit
    let token: string | undefined
    for (;;) {
      try {
        const page = await this.#request({ method: 'GET', path, query: { ...query, limit, continue: token } }, options)
        for (const object of itemsOf(page)) objects.push(withKind(resource, object))
        token = continueOf(page)
        if (token === undefined) return objects
      } catch (error) {
        // Many large objects make a page too large to be read.
        const smaller = toSmallerPage(error, limit)
        if (smaller === undefined) throw error
        limit = smaller
      }
    }
  }

  #selection(resource: Resource, options: SelectionOptions): Pick<ApiCall, 'path' | 'query'> {
    const { namespace = this.#options.namespace } = options
    return { path: collectionPath(resource, namespace ?? undefined), query: toSelectionQuery(options) }
  }

  /** Takes `(resource, object, options?)` and `(object, options?)`. */
  async #writing<O>([first, second, third]: readonly unknown[]): Promise<Writing<O>> {
    if (isSelfDescribed(first)) {
      const resource = await this.#resolve(toKeywords(first))
      return { resource, object: first, options: (second ?? {}) as O }
    }
    if (isPlainObject(first) && Object.hasOwn(first, 'metadata')) {
      throw new KopfError(
        'KOPF_OBJECT',
        'Cannot write an object without "apiVersion" and "kind": add them, or name the resource before the object',
      )
    }
    const resource = await this.#resolve(first as ClientResource)
    if (!isPlainObject(second)) {
      throw new KopfError('KOPF_OBJECT', `Cannot write to ${resource.plural}: expected an object with its metadata`)
    }
    return { resource, object: withKind(resource, second), options: (third ?? {}) as O }
  }

  #pathOf(resource: Resource, object: JsonObject, options: WriteOptions, deed: string): string {
    const name = needName(resource, object, deed)
    return objectPath(
      resource,
      { name, namespace: this.#namespace(resource, name, options, object) },
      options.subresource,
    )
  }

  #namespace(resource: Resource, name: string, { namespace }: CallOptions, object?: JsonObject): string | undefined {
    if (!resource.namespaced) return undefined
    const chosen = namespace ?? ownNamespace(object) ?? this.#options.namespace
    if (chosen !== undefined) return chosen
    throw new KopfError(
      'KOPF_NAMESPACE',
      `Cannot tell the namespace of ${resource.kind} ${JSON.stringify(name)}: ${resource.plural} are namespaced, and the object being handled is not; give { namespace }`,
    )
  }

  /** What discovery has described needs no search: a handler's own `resource` is such a one. */
  #resolve(like: ClientResource): Promise<Resource> {
    return isResource(like) ? Promise.resolve(like) : this.#options.resolve(like)
  }

  #request(
    call: ApiCall,
    { signal = this.#options.signal }: { readonly signal?: AbortSignal | undefined },
  ): Promise<JsonObject> {
    return this.#options.session.request(call, signal)
  }
}

function isResource(like: ClientResource): like is Resource {
  return typeof like === 'object' && 'verbs' in like && 'namespaced' in like && 'plural' in like
}

function isSelfDescribed(value: unknown): value is JsonObject & { apiVersion: string; kind: string } {
  return (
    isPlainObject(value) && typeof getOwn(value, 'apiVersion') === 'string' && typeof getOwn(value, 'kind') === 'string'
  )
}

function toKeywords({ apiVersion, kind }: { apiVersion: string; kind: string }) {
  const groupVersion = parseGroupVersion(apiVersion)
  if (groupVersion !== undefined) return { ...groupVersion, kind }
  throw new KopfError(
    'KOPF_OBJECT',
    `Cannot write a ${JSON.stringify(kind)} of apiVersion ${JSON.stringify(apiVersion)}: expected "v1" or "group/version"`,
  )
}

/** Items of lists come without them, and users may leave them out. */
function withKind({ group, version, kind }: Resource, object: JsonObject): JsonObject {
  return { apiVersion: formatGroupVersion(group, version), kind, ...object }
}

function continueOf(page: JsonObject): string | undefined {
  const metadata = getOwn(page, 'metadata')
  const next = isPlainObject(metadata) ? getOwn(metadata, 'continue') : undefined
  return typeof next === 'string' && next !== '' ? next : undefined
}

function itemsOf(page: JsonObject): JsonObject[] {
  const items = getOwn(page, 'items')
  return Array.isArray(items) ? items.filter(isPlainObject) : []
}

function nameOf(object: JsonObject): string | undefined {
  return metadataText(object, 'name')
}

function ownNamespace(object: JsonObject | undefined): string | undefined {
  return object && metadataText(object, 'namespace')
}

function metadataText(object: JsonObject, key: string): string | undefined {
  const metadata = getOwn(object, 'metadata')
  const value = isPlainObject(metadata) ? getOwn(metadata, key) : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}

function needName({ kind }: Resource, object: JsonObject, deed: string): string {
  const name = nameOf(object)
  if (name !== undefined) return name
  throw new KopfError('KOPF_OBJECT', `Cannot ${deed} a ${kind} without a name: give metadata.name`)
}

function toWriteQuery({ dryRun, fieldManager, fieldValidation }: WriteOptions): NonNullable<ApiCall['query']> {
  return { dryRun: dryRun ? 'All' : undefined, fieldManager, fieldValidation }
}

/** In the body throughout: where there is one, the server does not look at the query. */
function toDeleteBody({
  dryRun,
  propagationPolicy,
  gracePeriodSeconds,
  preconditions,
}: DeleteOptions): object | undefined {
  const fields = {
    ...(dryRun ? { dryRun: ['All'] } : {}),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(preconditions === undefined ? {} : { preconditions }),
  }
  return Object.keys(fields).length === 0 ? undefined : { apiVersion: 'v1', kind: 'DeleteOptions', ...fields }
}
