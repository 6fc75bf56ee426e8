/**
 * OpenAPI v3: a document for each version of a group, and an index of them. kubectl reads it to explain kinds, to merge what
 * it applies, and to learn that the server checks fields itself. The documents list what is served, no more. Made on demand,
 * once for each state of the registry: whoever keeps an OpenApi makes a new one when resources change, and hands over the
 * old one for what has stayed the same.
 */
import { hashOf } from '../aggregated-discovery.ts'
import type { Answer } from '../call.ts'
import { resourcesOf } from '../discovery.ts'
import type { ServedResource } from '../resource.ts'
import type { Definitions } from './names.ts'
import { pathsOf } from './operations.ts'
import { collectSchemas } from './schemas.ts'

interface Document {
  readonly resources: readonly ServedResource[]
  readonly text: string
  readonly hash: string
}

export interface OpenApiRequest {
  /** What follows `/openapi/v3/`: `api/v1`, `apis/apps/v1`. */
  readonly path: string
  readonly accept?: string | undefined
  /** The query parameter: with it, the answer may be kept for ever. */
  readonly hash?: string | undefined
  readonly ifNoneMatch?: string | undefined
}

export class OpenApi {
  readonly #resources: readonly ServedResource[]
  readonly #definitions: Definitions

  /** Those that have been asked for, of this state or of an earlier one. */
  readonly #documents: Map<string, Document>

  constructor(resources: readonly ServedResource[], definitions: Definitions, earlier?: OpenApi) {
    this.#resources = resources
    this.#definitions = definitions
    const paths = this.#paths()
    const kept = earlier === undefined ? [] : [...earlier.#documents].filter(([path]) => paths.has(path))
    this.#documents = new Map(kept)
  }

  /** `/openapi/v3` */
  answerIndex(ifNoneMatch?: string): Answer {
    const paths: Record<string, { serverRelativeURL: string }> = {}
    for (const path of [...this.#paths().keys()].sort()) paths[path] = { serverRelativeURL: this.#url(path) }
    const text = JSON.stringify({ paths })
    const etag = `"${hashOf(text)}"`
    if (ifNoneMatch === etag) return { status: 304, headers: { etag }, body: '' }
    // The real server has always sent it so.
    return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8', etag }, body: text }
  }

  /** `/openapi/v3/<path>`; a 404 of its own where there is no such document. */
  answer({ path, accept, hash, ifNoneMatch }: OpenApiRequest): Answer {
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
  #paths(): Map<string, Pick<ServedResource, 'group' | 'version'>> {
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

  #write(path: string, resources: readonly ServedResource[]): string {
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

/** Resources are made anew where anything about them changes. */
function isSame(some: readonly ServedResource[], others: readonly ServedResource[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index])
}

/** The real server also has it in protobuf, which clients ask for beside JSON. */
function acceptsJson(accept = '*/*'): boolean {
  const types = accept.split(',').map((part) => part.split(';')[0]!.trim())
  return types.some((type) => ['*/*', 'application/*', 'application/json'].includes(type))
}
