/**
 * OpenAPI v3: one document per group and version, and an index. kubectl uses it for `explain`, for merging in client-side apply, and
 * to detect server-side field validation. The documents contain served resources only. Created on demand, once per state of the
 * registry: when resources change, a new OpenApi reuses the unchanged documents of the old one.
 */
import { hashOf } from '../aggregated-discovery.ts'
import type { ApiResponse } from '../call.ts'
import { resourcesOf } from '../discovery.ts'
import type { ApiResource } from '../resource.ts'
import type { SchemaDefinitions } from './names.ts'
import { pathsOf } from './operations.ts'
import { collectSchemas } from './schemas.ts'

interface Document {
  readonly resources: readonly ApiResource[]
  readonly text: string
  readonly hash: string
}

export interface OpenApiRequest {
  /** The path after `/openapi/v3/`: `api/v1`, `apis/apps/v1`. */
  readonly path: string
  readonly accept?: string | undefined
  /** The query parameter `hash`: with it, the response can be cached forever. */
  readonly hash?: string | undefined
  readonly ifNoneMatch?: string | undefined
}

export class OpenApi {
  readonly #resources: readonly ApiResource[]
  readonly #definitions: SchemaDefinitions

  /** The documents requested so far, of this state or an earlier one. */
  readonly #documents: Map<string, Document>

  constructor(resources: readonly ApiResource[], definitions: SchemaDefinitions, earlier?: OpenApi) {
    this.#resources = resources
    this.#definitions = definitions
    const paths = this.#paths()
    const kept = earlier === undefined ? [] : [...earlier.#documents].filter(([path]) => paths.has(path))
    this.#documents = new Map(kept)
  }

  /** `/openapi/v3` */
  answerIndex(ifNoneMatch?: string): ApiResponse {
    const paths: Record<string, { serverRelativeURL: string }> = {}
    for (const path of [...this.#paths().keys()].sort()) paths[path] = { serverRelativeURL: this.#url(path) }
    const text = JSON.stringify({ paths })
    const etag = `"${hashOf(text)}"`
    if (ifNoneMatch === etag) return { status: 304, headers: { etag }, body: '' }
    // kube-apiserver sends the index as plain text.
    return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8', etag }, body: text }
  }

  /** `/openapi/v3/<path>`; an empty 404 if there is no such document. */
  answer({ path, accept, hash, ifNoneMatch }: OpenApiRequest): ApiResponse {
    const document = this.#document(path)
    if (document === undefined) return { status: 404, headers: {}, body: '' }
    const headers = { vary: 'Accept', 'content-type': 'application/json', etag: `"${document.hash}"` }
    if (!acceptsJson(accept)) return { status: 406, headers: { vary: 'Accept' }, body: '' }
    if (hash && hash !== document.hash) {
      return { status: 301, headers: { ...headers, location: this.#url(path) }, body: '' }
    }
    const caching = hash ? { 'cache-control': 'public, immutable' } : {}
    if (ifNoneMatch === headers.etag) return { status: 304, headers: { ...headers, ...caching }, body: '' }
    return { status: 200, headers: { ...headers, ...caching }, body: document.text }
  }

  /** Group and version by the path of their document. */
  #paths(): Map<string, Pick<ApiResource, 'group' | 'version'>> {
    return new Map(
      this.#resources.map(({ group, version }) => [
        group === '' ? `api/${version}` : `apis/${group}/${version}`,
        { group, version },
      ]),
    )
  }

  #url(path: string): string {
    return `/openapi/v3/${path}?hash=${this.#document(path)!.hash}`
  }

  #document(path: string): Document | undefined {
    const version = this.#paths().get(path)
    if (version === undefined) return undefined
    const resources = resourcesOf(this.#resources, version.group, version.version)
    const known = this.#documents.get(path)
    if (known !== undefined && isSame(known.resources, resources)) return known
    const text = this.#write(path, resources)
    const document = { resources, text, hash: hashOf(text) }
    this.#documents.set(path, document)
    return document
  }

  #write(path: string, resources: readonly ApiResource[]): string {
    const isCustom = resources.every((resource) => resource.isCustom)
    return JSON.stringify({
      openapi: '3.0.0',
      info: isCustom
        ? { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' }
        : { title: 'Kubernetes', version: 'v1.36.3' },
      paths: Object.fromEntries(resources.flatMap((resource) => pathsOf(resource, `/${path}`))),
      components: { schemas: collectSchemas(resources, this.#definitions) },
    })
  }
}

/** A resource is a new object after every change, so identity is enough. */
function isSame(some: readonly ApiResource[], others: readonly ApiResource[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index])
}

/** kube-apiserver also has protobuf, but clients that request it accept JSON too. */
function acceptsJson(accept = '*/*'): boolean {
  const types = accept.split(',').map((part) => part.split(';')[0]!.trim())
  return types.some((type) => ['*/*', 'application/*', 'application/json'].includes(type))
}
