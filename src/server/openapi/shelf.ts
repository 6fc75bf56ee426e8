/**
 * All OpenAPI documents of a server, kept as long as the same is served. pages.ts loads this, and with it all of this room,
 * when somebody first asks for a document: operators never do, and a server shall start fast.
 */
import type { Answer } from '../call.ts'
import type { ServedResource } from '../resource.ts'
import { loadDefinitions } from './definitions.ts'
import { OpenApi, type OpenApiRequest } from './documents.ts'
import type { Definitions } from './names.ts'
import { Swagger } from './swagger.ts'

type Conditions = Pick<OpenApiRequest, 'accept' | 'ifNoneMatch'>

export class OpenApiShelf {
  readonly #definitions: Definitions
  #resources: readonly ServedResource[] = []
  #openapi: OpenApi
  #swagger: Swagger

  constructor(definitions: Definitions) {
    this.#definitions = definitions
    this.#openapi = new OpenApi([], definitions)
    this.#swagger = new Swagger([], definitions)
  }

  /** `/openapi/v2` */
  answerSwagger(resources: readonly ServedResource[], { accept, ifNoneMatch }: Conditions): Answer {
    this.#keepUp(resources)
    return this.#swagger.answer(accept, ifNoneMatch)
  }

  /** `/openapi/v3`, and what is below it. */
  answer(resources: readonly ServedResource[], request: OpenApiRequest): Answer {
    this.#keepUp(resources)
    return request.path === '' ? this.#openapi.answerIndex(request.ifNoneMatch) : this.#openapi.answer(request)
  }

  #keepUp(resources: readonly ServedResource[]): void {
    if (this.#resources === resources) return
    this.#resources = resources
    this.#openapi = new OpenApi(resources, this.#definitions, this.#openapi)
    this.#swagger = new Swagger(resources, this.#definitions)
  }
}

export async function openShelf(): Promise<OpenApiShelf> {
  return new OpenApiShelf(await loadDefinitions())
}
