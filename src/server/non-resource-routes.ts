/** Routes that are not resources: discovery, version, health, OpenAPI, OpenID. */
import { aggregatedDiscovery, taggedAnswer } from './aggregated-discovery.ts'
import { type ApiResponse, jsonAnswer } from './call.ts'
import { apiGroup, apiGroupList, apiResourceList, apiVersions, rootPaths, versionInfo } from './discovery.ts'
import type { AccountTokens } from './identity/account-tokens.ts'
import { openidPage } from './identity/openid.ts'
import { checkRoute, isPrettyRequest, negotiate } from './negotiation.ts'
import type { OpenApiCache } from './openapi/openapi-cache.ts'
import type { ResourceRegistry } from './registry.ts'
import type { ParsedRequest } from './request.ts'
import type { ApiResource } from './resource.ts'
import { methodNotAllowed, pathNotFound } from './status.ts'

type RequestHeaders = Readonly<Record<string, string>>

const swaggerPath = '/openapi/v2'
const openapiRoot = '/openapi/v3'
const healthPaths = new Set(['/healthz', '/livez', '/readyz', '/healthz/ping', '/livez/ping', '/readyz/ping'])

interface CachedDiscovery {
  readonly resources: readonly ApiResource[]
  /** The texts of aggregated discovery, by path. */
  readonly aggregated: Map<string, string>
}

/** A complete response, the body of one, or undefined if the path is not known. */
type RouteResult = ApiResponse | Record<string, unknown> | undefined

export class NonResourceRoutes {
  readonly #registry: ResourceRegistry
  readonly #tokens: AccountTokens

  /** Documents computed from the served resources; dropped when these change. */
  #known: CachedDiscovery | undefined

  /** Imported with the first request for OpenAPI. */
  #openapiCache: Promise<OpenApiCache> | undefined

  constructor(registry: ResourceRegistry, tokens: AccountTokens) {
    this.#registry = registry
    this.#tokens = tokens
  }

  async answer({ method, path, query }: ParsedRequest, headers: RequestHeaders): Promise<ApiResponse> {
    // Health is independent of method and Accept header.
    if (healthPaths.has(path)) return textPage(query.has('verbose') ? verboseHealth(path) : 'ok')
    const page = await this.#find(path.length > 1 ? path.replace(/\/$/, '') : path, query, headers)
    if (page === undefined) return this.#missing(path)
    if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed()
    if ('status' in page) return page as ApiResponse
    return jsonPage(page, query, headers)
  }

  /** Unknown paths in built-in groups get a Status, all others the plain text 404 page. */
  #missing(path: string): ApiResponse {
    const [, root, group = ''] = path.split('/')
    const isKnown = root === 'api' || (root === 'apis' && this.#registry.isBuiltinGroup(group))
    if (isKnown && group !== '') throw pathNotFound()
    return notFoundPage
  }

  #find(path: string, query: URLSearchParams, headers: RequestHeaders): RouteResult | Promise<RouteResult> {
    const isOpenApi = path === swaggerPath || path === openapiRoot || path.startsWith(`${openapiRoot}/`)
    if (isOpenApi) return this.#openapi(path, query, headers)
    const { all } = this.#registry
    switch (path) {
      case '/':
        return rootPaths(all)
      case '/version':
        // Always indented, as in kube-apiserver.
        return { ...jsonAnswer(200, {}), body: JSON.stringify(versionInfo(), undefined, 2) }
      case '/api':
      case '/apis':
        return this.#discovery(path, headers)
      default:
        return openidPage(path, this.#tokens, headers) ?? this.#group(path)
    }
  }

  #discovery(root: '/api' | '/apis', headers: RequestHeaders): ApiResponse | Record<string, unknown> {
    const { all } = this.#registry
    const form = negotiate(headers['accept'], 'discovery')
    if (form.as === undefined) return root === '/api' ? apiVersions(headers['host'] ?? '') : apiGroupList(all)
    const { aggregated } = this.#current()
    const text = aggregated.get(root) ?? `${JSON.stringify(aggregatedDiscovery(all, root))}\n`
    aggregated.set(root, text)
    return taggedAnswer(text, form.contentType, headers['if-none-match'])
  }

  async #openapi(path: string, query: URLSearchParams, headers: RequestHeaders): Promise<ApiResponse> {
    this.#openapiCache ??= import('./openapi/openapi-cache.ts').then(({ createOpenApiCache }) => createOpenApiCache())
    const documents = await this.#openapiCache
    const { all } = this.#registry
    const conditions = { accept: headers['accept'], ifNoneMatch: headers['if-none-match'] }
    if (path === swaggerPath) return documents.answerSwagger(all, conditions)
    const hash = query.get('hash') ?? undefined
    return documents.answer(all, { path: path.slice(openapiRoot.length + 1), ...conditions, hash })
  }

  #current(): CachedDiscovery {
    const { all } = this.#registry
    if (this.#known?.resources !== all) this.#known = { resources: all, aggregated: new Map() }
    return this.#known!
  }

  #group(path: string): Record<string, unknown> | undefined {
    const [, root, ...names] = path.split('/')
    const { all } = this.#registry
    if (root === 'api' && names.length === 1) return apiResourceList(all, '', names[0]!)
    if (root !== 'apis') return undefined
    if (names.length === 1) return apiGroup(all, names[0]!)
    return names.length === 2 ? apiResourceList(all, names[0]!, names[1]!) : undefined
  }
}

function verboseHealth(path: string): string {
  return `[+]ping ok\n${path.split('/')[1]} check passed\n`
}

function textPage(body: string): ApiResponse {
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body }
}

export const notFoundPage: ApiResponse = {
  status: 404,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  body: '404 page not found\n',
}

function jsonPage(body: Record<string, unknown>, query: URLSearchParams, headers: RequestHeaders): ApiResponse {
  checkRoute(headers['accept'], 'plain')
  const isPretty = isPrettyRequest(query.get('pretty'), headers['user-agent'])
  if (!isPretty) return jsonAnswer(200, body)
  return { ...jsonAnswer(200, body), body: JSON.stringify(body, undefined, 2) }
}
