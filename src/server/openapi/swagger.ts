/**
 * OpenAPI v2: one document of all served resources, created from the v3 documents, as JSON and protobuf. kubectl falls back to it for
 * kinds that v3 does not describe, such as `kind: List`. Created on demand.
 */
import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import { hashOf } from '../aggregated-discovery.ts'
import type { ApiResponse } from '../call.ts'
import type { ApiResource } from '../resource.ts'
import { type SchemaDefinitions, schemaName } from './names.ts'
import { pathsOf } from './operations.ts'
import { collectSchemas } from './schemas.ts'
import { encodeSwagger } from './swagger-protobuf.ts'
import { toSwagger } from './swagger-schemas.ts'

const protobufTypes = [
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
]

export class Swagger {
  readonly #resources: readonly ApiResource[]
  readonly #definitions: SchemaDefinitions
  #document: JsonObject | undefined
  #text: string | undefined
  #bytes: Uint8Array | undefined

  constructor(resources: readonly ApiResource[], definitions: SchemaDefinitions) {
    this.#resources = resources
    this.#definitions = definitions
  }

  /** `/openapi/v2` */
  answer(accept: string | undefined, ifNoneMatch: string | undefined): ApiResponse {
    const form = negotiate(accept)
    if (form === undefined) return { status: 406, headers: { vary: 'Accept' }, body: '' }
    this.#document ??= toDocument(this.#resources, this.#definitions)
    this.#text ??= JSON.stringify(this.#document)
    const etag = `"${hashOf(this.#text)}"`
    if (ifNoneMatch === etag) return { status: 304, headers: { vary: 'Accept', etag }, body: '' }
    const contentType = form === 'json' ? 'application/json' : protobufTypes[1]!
    const headers = { vary: 'Accept', 'content-type': contentType, etag }
    if (form === 'json') return { status: 200, headers, body: this.#text }
    this.#bytes ??= encodeSwagger(this.#document)
    return { status: 200, headers, body: singleChunk(this.#bytes) }
  }
}

async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(bytes)
}

/** The first supported type that the client accepts. */
function negotiate(accept: string | undefined): 'json' | 'protobuf' | undefined {
  for (const part of (accept || '*/*').split(',')) {
    const type = part.split(';')[0]!.trim()
    if (['*/*', 'application/*', 'application/json'].includes(type)) return 'json'
    if (protobufTypes.includes(type)) return 'protobuf'
  }
  return undefined
}

function toDocument(resources: readonly ApiResource[], definitions: SchemaDefinitions): JsonObject {
  const custom = new Map(resources.filter(({ isCustom }) => isCustom).map((one) => [schemaName(one), one]))
  const schemas = Object.entries(collectSchemas(resources, definitions))
  const paths = resources.flatMap((resource) => pathsOf(resource, baseOf(resource)))
  const sorted = paths.sort(([one], [other]) => (one < other ? -1 : 1))
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: 'v1.36.3' },
    paths: Object.fromEntries(sorted.map(([path, item]) => [path, toItem(item)])),
    definitions: Object.fromEntries(
      schemas.map(([name, schema]) => [name, toSwagger(schema as JsonObject, custom.get(name))]),
    ),
    securityDefinitions: {
      BearerToken: {
        description: 'Bearer Token authentication',
        type: 'apiKey',
        name: 'authorization',
        in: 'header',
      },
    },
    security: [{ BearerToken: [] }],
  }
}

function baseOf({ group, version }: ApiResource): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`
}

function toItem({ parameters, ...operations }: JsonObject): JsonObject {
  const entries = Object.entries(operations).map(([method, operation]) => [
    method,
    toOperation(operation as JsonObject),
  ])
  return { ...Object.fromEntries(entries), parameters: (parameters as JsonObject[]).map(toParameter) }
}

/** In v2, a body is a parameter, and its content types belong to the operation. */
function toOperation({ parameters, requestBody, responses, ...rest }: JsonObject): JsonObject {
  const body = requestBody as JsonObject | undefined
  const answers = Object.entries(responses as JsonObject).map(([code, response]) => [code, toResponse(response)])
  const types = ['application/json', 'application/yaml']
  return {
    ...rest,
    consumes: body === undefined ? ['*/*'] : Object.keys(body['content'] as JsonObject),
    produces: types,
    schemes: ['https'],
    parameters: [...(body === undefined ? [] : [toBody(body)]), ...(parameters as JsonObject[]).map(toParameter)],
    responses: Object.fromEntries(answers) as JsonObject,
  }
}

function toBody({ content, required }: JsonObject): JsonObject {
  return { name: 'body', in: 'body', ...(required === true ? { required } : {}), schema: schemaIn(content!) }
}

function toParameter({ schema, ...rest }: JsonObject): JsonObject {
  return { ...rest, ...(schema as JsonObject) }
}

function toResponse(response: Json): JsonObject {
  const { content, ...rest } = response as JsonObject
  return content === undefined ? rest : { ...rest, schema: schemaIn(content) }
}

function schemaIn(content: Json): JsonObject {
  const [first] = Object.values(content as JsonObject)
  return isPlainObject(first) ? toSwagger(first['schema'] as JsonObject) : {}
}
