/**
 * Reads the OpenAPI documents of the Kubernetes source into modules: one per group and version, with its schemas and its resources.
 * Used by generate-types.ts.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Schema {
  readonly description?: string
  readonly type?: 'array' | 'boolean' | 'integer' | 'number' | 'object' | 'string'
  readonly format?: string
  /** After reading: `core/v1.Pod`. */
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly required?: readonly string[]
  /** The group, version and kind, if the schema is that of whole objects. */
  readonly kind?: { readonly group: string; readonly version: string; readonly kind: string }
}

export interface BuiltinKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly scope: 'Cluster' | 'Namespaced'
}

export interface ApiModule {
  /** The folder and file, as in Go: `core/v1`, `rbac/v1`. */
  readonly path: string
  readonly version: string
  readonly schemas: ReadonlyMap<string, Schema>
  readonly kinds: readonly BuiltinKind[]
}

interface Operation {
  readonly 'x-kubernetes-group-version-kind'?: {
    readonly group: string
    readonly version: string
    readonly kind: string
  }
}

interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** `io.k8s.api.core.v1.Pod` -> `core/v1.Pod`. Types without a version of their own belong to meta/v1. */
function toId(name: string): string {
  const short = name
    .replace(/^io\.k8s\.(?:api|apimachinery\.pkg\.apis|(?:apiextensions-apiserver|kube-aggregator)\.pkg\.apis)\./, '')
    .replace(/^io\.k8s\.apimachinery\.pkg\.(?:util\.intstr|api\.resource|runtime)\./, 'meta.v1.')
  const parts = short.split('.')
  if (parts.length !== 3) throw new Error(`Cannot tell the group and version of ${name}`)
  return `${parts[0]}/${parts[1]}.${parts[2]}`
}

function readDocuments(folder: string): OpenApiDocument[] {
  const files = readdirSync(folder).filter((file) => /^(?:api|apis__[\w.-]+)__v\w+_openapi\.json$/.test(file))
  return files.sort().map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as OpenApiDocument)
}

function kindsIn({ paths }: OpenApiDocument): BuiltinKind[] {
  const found = new Map<string, BuiltinKind>()
  for (const [path, operations] of Object.entries(paths)) {
    const match = /^\/api(?:s\/[^/]+)?\/[^/]+\/(namespaces\/\{namespace\}\/)?([a-z]+)$/.exec(path)
    const kind = (operations['get'] ?? operations['post'])?.['x-kubernetes-group-version-kind']
    if (match === null || kind === undefined) continue
    const plural = match[2]!
    // A namespaced resource has a second path, for all namespaces.
    if (match[1] !== undefined) found.set(plural, { ...kind, plural, scope: 'Namespaced' })
    else if (!found.has(plural)) found.set(plural, { ...kind, plural, scope: 'Cluster' })
  }
  return [...found.values()]
}

/** Shortens the names in references, and keeps the group, version and kind of schemas that have exactly one. */
function simplify(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (key, value) => {
    // JSONSchemaProps has a field of that name.
    if (key === '$ref' && typeof value === 'string') return toId((value as string).replace(/^.*\//, ''))
    if (typeof value !== 'object' || value === null) return value
    const { 'x-kubernetes-group-version-kind': kinds, ...rest } = value
    return Array.isArray(value)
      ? value
      : Array.isArray(kinds) && kinds.length === 1
        ? { ...rest, kind: kinds[0] }
        : rest
  }) as Schema
}

function referencesIn(schema: Schema): string[] {
  return [...JSON.stringify(schema).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!)
}

/** Lists are read by the client, and never written. The types of meta are included if another type refers to them. */
function select(schemas: ReadonlyMap<string, Schema>): Map<string, Schema> {
  const isRoot = (id: string) => !id.startsWith('meta/v1.') && !id.endsWith('List')
  const queue = [...schemas.keys()].filter(isRoot)
  const found = new Map<string, Schema>()
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (found.has(id)) continue
    const schema = schemas.get(id)
    if (schema === undefined) throw new Error(`No document describes ${id}`)
    found.set(id, schema)
    queue.push(...referencesIn(schema))
  }
  return found
}

export function readApiModules(folder: string): ApiModule[] {
  const documents = readDocuments(folder)
  const all = new Map<string, Schema>()
  for (const { components } of documents) {
    for (const [name, schema] of Object.entries(components.schemas)) all.set(toId(name), simplify(schema))
  }
  const kinds = documents.flatMap(kindsIn)
  const modules = new Map<string, Map<string, Schema>>()
  for (const [id, schema] of select(all)) {
    const [path, name] = id.split('.') as [string, string]
    modules.set(path, (modules.get(path) ?? new Map()).set(name, schema))
  }
  return [...modules]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, schemas]) => {
      const isHere = ({ group, version, kind }: BuiltinKind) => {
        const own = schemas.get(kind)?.kind
        return own !== undefined && own.group === group && own.version === version
      }
      return { path, version: path.split('/')[1]!, schemas, kinds: kinds.filter(isHere) }
    })
}
