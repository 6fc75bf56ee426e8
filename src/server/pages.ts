/** Everything that is not a resource: what is served, in which version, and whether the server is well. */
import { aggregatedDiscovery, taggedAnswer } from './aggregated-discovery.ts'
import { type Answer, jsonAnswer } from './call.ts'
import { apiGroup, apiGroupList, apiResourceList, apiVersions, rootPaths, versionInfo } from './discovery.ts'
import type { AccountTokens } from './identity/account-tokens.ts'
import { openidPage } from './identity/openid.ts'
import { checkRoute, isPrettyRequest, negotiate } from './negotiation.ts'
import type { OpenApiShelf } from './openapi/shelf.ts'
import type { Registry } from './registry.ts'
import type { ParsedRequest } from './request.ts'
import type { ServedResource } from './resource.ts'
import { methodNotAllowed, pathNotFound } from './status.ts'

type Headers = Readonly<Record<string, string>>

const swaggerPath = '/openapi/v2'
const openapiRoot = '/openapi/v3'
const healthPaths = new Set(['/healthz', '/livez', '/readyz', '/healthz/ping', '/livez/ping', '/readyz/ping'])

interface Known {
  readonly resources: readonly ServedResource[]
  /** The texts of aggregated discovery, by their path. */
  readonly aggregated: Map<string, string>
}

/** An answer of its own, the body of one, or undefined where there is no such page. */
type Page = Answer | Record<string, unknown> | undefined

export class Pages {
  readonly #registry: Registry
  readonly #tokens: AccountTokens

  /** What was worked out from what is served, as long as nothing else is. */
  #known: Known | undefined

  /** Asked for with the first document. */
  #shelf: Promise<OpenApiShelf> | undefined

  constructor(registry: Registry, tokens: AccountTokens) {
    this.#registry = registry
    this.#tokens = tokens
  }

  async answer({ method, path, query }: ParsedRequest, headers: Headers): Promise<Answer> {
    // Whoever asks in whichever way: the server is well.
    if (healthPaths.has(path)) return textPage(query.has('verbose') ? verboseHealth(path) : 'ok')
    const page = await this.#find(path.length > 1 ? path.replace(/\/$/, '') : path, query, headers)
    if (page === undefined) return this.#missing(path)
    if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed()
    if ('status' in page) return page as Answer
    return jsonPage(page, query, headers)
  }

  /** What the built-in groups do not have is answered like a missing resource. */
  #missing(path: string): Answer {
    const [, root, group = ''] = path.split('/')
    const isKnown = root === 'api' || (root === 'apis' && this.#registry.isBuiltinGroup(group))
    if (isKnown && group !== '') throw pathNotFound()
    return notFoundPage
  }

  #find(path: string, query: URLSearchParams, headers: Headers): Page | Promise<Page> {
    const isOpenApi = path === swaggerPath || path === openapiRoot || path.startsWith(`${openapiRoot}/`)
    if (isOpenApi) return this.#openapi(path, query, headers)
    const { all } = this.#registry
    switch (path) {
      case '/':
        return rootPaths(all)
      case '/version':
        // Indented for everybody: people read it.
        return { ...jsonAnswer(200, {}), body: JSON.stringify(versionInfo(), undefined, 2) }
      case '/api':
      case '/apis':
        return this.#discovery(path, headers)
      default:
        return openidPage(path, this.#tokens, headers) ?? this.#group(path)
    }
  }

  #discovery(root: '/api' | '/apis', headers: Headers): Answer | Record<string, unknown> {
    const { all } = this.#registry
    const form = negotiate(headers['accept'], 'discovery')
    if (form.as === undefined) return root === '/api' ? apiVersions(headers['host'] ?? '') : apiGroupList(all)
    const { aggregated } = this.#current()
    const text = aggregated.get(root) ?? `${JSON.stringify(aggregatedDiscovery(all, root))}\n`
    aggregated.set(root, text)
    return taggedAnswer(text, form.contentType, headers['if-none-match'])
  }

  async #openapi(path: string, query: URLSearchParams, headers: Headers): Promise<Answer> {
    this.#shelf ??= import('./openapi/shelf.ts').then(({ openShelf }) => openShelf())
    const shelf = await this.#shelf
    const { all } = this.#registry
    const conditions = { accept: headers['accept'], ifNoneMatch: headers['if-none-match'] }
    if (path === swaggerPath) return shelf.answerSwagger(all, conditions)
    const hash = query.get('hash') ?? undefined
    return shelf.answer(all, { path: path.slice(openapiRoot.length + 1), ...conditions, hash })
  }

  #current(): Known {
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

function textPage(body: string): Answer {
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body }
}

export const notFoundPage: Answer = {
  status: 404,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  body: '404 page not found\n',
}

function jsonPage(body: Record<string, unknown>, query: URLSearchParams, headers: Headers): Answer {
  checkRoute(headers['accept'], 'plain')
  const isPretty = isPrettyRequest(query.get('pretty'), headers['user-agent'])
  if (!isPretty) return jsonAnswer(200, body)
  return { ...jsonAnswer(200, body), body: JSON.stringify(body, undefined, 2) }
}
