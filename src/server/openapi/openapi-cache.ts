/**
 * Caches all OpenAPI documents of a server as long as the served resources stay the same. Imported with the first request for a
 * document: operators never request one, and the server should start fast.
 */
import type { ApiResponse } from '../call.ts'
import type { ApiResource } from '../resource.ts'
import { loadDefinitions } from './definitions.ts'
import { OpenApi, type OpenApiRequest } from './documents.ts'
import type { SchemaDefinitions } from './names.ts'
import { Swagger } from './swagger.ts'

type OpenApiConditions = Pick<OpenApiRequest, 'accept' | 'ifNoneMatch'>

export class OpenApiCache {
  readonly #definitions: SchemaDefinitions
  #resources: readonly ApiResource[] = []
  #openapi: OpenApi
  #swagger: Swagger

  constructor(definitions: SchemaDefinitions) {
    this.#definitions = definitions
    this.#openapi = new OpenApi([], definitions)
    this.#swagger = new Swagger([], definitions)
  }

  /** `/openapi/v2` */
  answerSwagger(resources: readonly ApiResource[], { accept, ifNoneMatch }: OpenApiConditions): ApiResponse {
    this.#keepUp(resources)
    return this.#swagger.answer(accept, ifNoneMatch)
  }

  /** `/openapi/v3` and the paths below it. */
  answer(resources: readonly ApiResource[], request: OpenApiRequest): ApiResponse {
    this.#keepUp(resources)
    return request.path === '' ? this.#openapi.answerIndex(request.ifNoneMatch) : this.#openapi.answer(request)
  }

  #keepUp(resources: readonly ApiResource[]): void {
    if (this.#resources === resources) return
    this.#resources = resources
    this.#openapi = new OpenApi(resources, this.#definitions, this.#openapi)
    this.#swagger = new Swagger(resources, this.#definitions)
  }
}

export async function createOpenApiCache(): Promise<OpenApiCache> {
  return new OpenApiCache(await loadDefinitions())
}
