/** Implements `Client`: turns each verb into an API call. The typed interface and its documentation are in client.ts. */
import { KopfError } from '../errors.ts'
import { formatGroupVersion, type JsonObject, parseGroupVersion } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { getObject, getObjects, getString, isPlainObject } from '../util/json/json.ts'
import { isGone } from './api-error.ts'
import type { Client, ClientResource, CreateClientOptions } from './client.ts'
import type {
  ApplyOptions,
  CallOptions,
  ClientEvent,
  DeleteOptions,
  GetOptions,
  PatchOptions,
  SelectionOptions,
  SelectorText,
  WatchOptions,
  WriteOptions,
} from './client-options.ts'
import { toSmallerPage } from './connection-error.ts'
import { collectionPath, objectPath } from './paths.ts'
import type { ApiCall } from './session.ts'
import { readWatchEvents } from './watch-lines.ts'

const pageSize = 500

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const

/** The only media type that every supported version accepts for server-side apply. JSON is valid YAML. */
const applyType = 'application/apply-patch+yaml'

/** The arguments of a write, in one form for both signatures: with and without a resource. */
interface WriteCall<O> {
  readonly resource: Resource
  readonly object: JsonObject
  readonly options: O
}

/** The methods of `Client` without the object types, which do not exist at run time. */
type UntypedClient = { readonly [K in keyof Client]: unknown }

export class ApiClient implements UntypedClient {
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
    const call = this.#toListCall(resource, options)
    try {
      return await this.#listPages(resource, call, options, pageSize)
    } catch (error) {
      // 410: the version of the continue token was compacted. A list without pages cannot expire.
      if (!isGone(error)) throw error
      return await this.#listPages(resource, call, options, undefined)
    }
  }

  async create(...args: readonly unknown[]): Promise<JsonObject> {
    const { resource, object, options } = await this.#toWriteCall<WriteOptions>(args)
    const { subresource } = options
    const name = nameOf(object)
    const namespace = this.#namespace(resource, name ?? '', options, object)
    const path =
      subresource === undefined
        ? collectionPath(resource, namespace)
        : objectPath(resource, { name: requireName(resource, object, 'create'), namespace }, subresource)
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
    const { resource, object, options } = await this.#toWriteCall<ApplyOptions>(args)
    const fieldManager = options.fieldManager ?? this.#options.fieldManager ?? 'kopf'
    const query = { ...toWriteQuery({ ...options, fieldManager }), force: options.force }
    const path = this.#objectPath(resource, object, options, 'apply')
    return await this.#request({ method: 'PATCH', path, query, body: object, contentType: applyType }, options)
  }

  async replace(...args: readonly unknown[]): Promise<JsonObject> {
    const { resource, object, options } = await this.#toWriteCall<WriteOptions>(args)
    const path = this.#objectPath(resource, object, options, 'replace')
    return await this.#request({ method: 'PUT', path, query: toWriteQuery(options), body: object }, options)
  }

  async delete(like: ClientResource, name: string, options: DeleteOptions = {}): Promise<JsonObject | undefined> {
    const resource = await this.#resolve(like)
    const path = objectPath(resource, { name, namespace: this.#namespace(resource, name, options) })
    const body = toDeleteBody(options)
    const response = await this.#request({ method: 'DELETE', path, ...(body === undefined ? {} : { body }) }, options)
    return response['kind'] === 'Status' && response['apiVersion'] === 'v1' ? undefined : response
  }

  async *watch(
    like: ClientResource,
    options: WatchOptions = {},
  ): AsyncGenerator<ClientEvent<JsonObject>, void, undefined> {
    const resource = await this.#resolve(like)
    const { path, query } = this.#toListCall(resource, options)
    const { resourceVersion, timeoutSeconds, allowWatchBookmarks } = options
    const call: ApiCall = {
      method: 'GET',
      path,
      query: { ...query, watch: true, resourceVersion, timeoutSeconds, allowWatchBookmarks },
    }
    yield* readWatchEvents(this.#options.session, call, options.signal ?? this.#options.signal)
  }

  async #listPages(
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
        for (const object of getObjects(page, 'items')) objects.push(withKind(resource, object))
        token = continueToken(page)
        if (token === undefined) return objects
      } catch (error) {
        // A page of many large objects may exceed the maximum size of a response.
        const smaller = toSmallerPage(error, limit)
        if (smaller === undefined) throw error
        limit = smaller
      }
    }
  }

  #toListCall(resource: Resource, options: SelectionOptions): Pick<ApiCall, 'path' | 'query'> {
    const { namespace = this.#options.namespace } = options
    return { path: collectionPath(resource, namespace ?? undefined), query: toSelectionQuery(options) }
  }

  /** Accepts `(resource, object, options?)` and `(object, options?)`. */
  async #toWriteCall<O>([first, second, third]: readonly unknown[]): Promise<WriteCall<O>> {
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

  #objectPath(resource: Resource, object: JsonObject, options: WriteOptions, verb: string): string {
    const name = requireName(resource, object, verb)
    return objectPath(
      resource,
      { name, namespace: this.#namespace(resource, name, options, object) },
      options.subresource,
    )
  }

  #namespace(resource: Resource, name: string, { namespace }: CallOptions, object?: JsonObject): string | undefined {
    if (!resource.namespaced) return undefined
    const chosen = namespace ?? namespaceOf(object) ?? this.#options.namespace
    if (chosen !== undefined) return chosen
    throw new KopfError(
      'KOPF_NAMESPACE',
      `Cannot tell the namespace of ${resource.kind} ${JSON.stringify(name)}: ${resource.plural} are namespaced, and the object being handled is not; give { namespace }`,
    )
  }

  /** A discovered resource, such as the `resource` argument of a handler, needs no lookup. */
  #resolve(like: ClientResource): Promise<Resource> {
    return isResource(like) ? Promise.resolve(like) : this.#options.resolve(like)
  }

  #request(
    call: ApiCall,
    { signal = this.#options.signal }: { readonly signal?: AbortSignal | undefined },
  ): Promise<JsonObject> {
    return this.#options.session.request({ ...call, purpose: 'client' }, signal)
  }
}

function isResource(like: ClientResource): like is Resource {
  return typeof like === 'object' && 'verbs' in like && 'namespaced' in like && 'plural' in like
}

function isSelfDescribed(value: unknown): value is JsonObject & { apiVersion: string; kind: string } {
  return isPlainObject(value) && getString(value, 'apiVersion') !== undefined && getString(value, 'kind') !== undefined
}

function toKeywords({ apiVersion, kind }: { apiVersion: string; kind: string }) {
  const groupVersion = parseGroupVersion(apiVersion)
  if (groupVersion !== undefined) return { ...groupVersion, kind }
  throw new KopfError(
    'KOPF_OBJECT',
    `Cannot write a ${JSON.stringify(kind)} of apiVersion ${JSON.stringify(apiVersion)}: expected "v1" or "group/version"`,
  )
}

/** Adds `apiVersion` and `kind`: the API server omits them in the items of lists, and users may omit them. */
function withKind({ group, version, kind }: Resource, object: JsonObject): JsonObject {
  return { apiVersion: formatGroupVersion(group, version), kind, ...object }
}

function continueToken(page: JsonObject): string | undefined {
  return metadataText(page, 'continue')
}

function nameOf(object: JsonObject): string | undefined {
  return metadataText(object, 'name')
}

function namespaceOf(object: JsonObject | undefined): string | undefined {
  return object && metadataText(object, 'namespace')
}

function metadataText(object: JsonObject, key: string): string | undefined {
  return getString(getObject(object, 'metadata') ?? {}, key) || undefined
}

function requireName({ kind }: Resource, object: JsonObject, verb: string): string {
  const name = nameOf(object)
  if (name !== undefined) return name
  throw new KopfError('KOPF_OBJECT', `Cannot ${verb} a ${kind} without a name: give metadata.name`)
}

function toWriteQuery({ dryRun, fieldManager, fieldValidation }: WriteOptions): NonNullable<ApiCall['query']> {
  return { dryRun: dryRun ? 'All' : undefined, fieldManager, fieldValidation }
}

/** All options are sent in the body: with a body, the server ignores the query. */
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

/** The selectors as query parameters of list and watch requests. */
export function toSelectionQuery({ labelSelector, fieldSelector }: SelectionOptions): NonNullable<ApiCall['query']> {
  return {
    labelSelector: labelSelector === undefined ? undefined : toSelectorText(labelSelector, (value) => value),
    fieldSelector: fieldSelector === undefined ? undefined : toSelectorText(fieldSelector, escapeField),
  }
}

function toSelectorText(selector: SelectorText, toValue: (value: string) => string): string | undefined {
  if (typeof selector === 'string') return selector === '' ? undefined : selector
  const terms = Object.entries(selector).map(([key, value]) => `${key}=${toValue(value)}`)
  return terms.length === 0 ? undefined : terms.join(',')
}

/** Values of field selectors may contain these characters; values of labels cannot. */
function escapeField(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&')
}
