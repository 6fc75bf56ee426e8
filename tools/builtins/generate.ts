/**
 * Writes src/server/builtins/schemas.generated.ts: the fields of the built-in kinds, from the pinned Kubernetes source.
 * Run by maintainers after the pin in tools/envtest has moved: `npx tsx tools/builtins/generate.ts`.
 * Two tables go into it: OpenAPI definitions (for documents, list types and merge keys) and Go structs (for decoding).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writePackedModule } from '../packed-module.ts'
import { moduleFolder } from './go-modules.ts'
import { type GoPackage, readGoPackage } from './go-structs.ts'
import { generatedKinds } from './kinds.ts'

type Schema = { [key: string]: unknown }

const here = fileURLToPath(new URL('.', import.meta.url))
const target = join(here, '../../src/server/builtins/schemas.generated.ts')

/** Short names for both tables: `core.v1.Pod`, `meta.v1.Time`, `resource.Quantity`. */
function shorten(definition: string): string {
  return definition
    .replace(/^io\.k8s\.api\./, '')
    .replace(/^io\.k8s\.apiextensions-apiserver\.pkg\.apis\./, '')
    .replace(/^io\.k8s\.apimachinery\.pkg\.(?:apis|util|api)\./, '')
    .replace(/^io\.k8s\.apimachinery\.pkg\./, '')
}

/** Drops descriptions and shortens references. `allOf` around a single reference only carries a description. */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact)
  if (typeof value !== 'object' || value === null) return value
  const result: Schema = {}
  for (const [key, child] of Object.entries(value)) {
    if (key === 'description') continue
    // `default: {}` is the zero value of a Go struct and carries no information.
    if (key === 'default' && JSON.stringify(child) === '{}') continue
    if (key === 'properties') result[key] = compactProperties(child as Schema)
    else if (key === '$ref') result[key] = shorten((child as string).replace(/^.*\//, ''))
    else if (key === 'allOf') Object.assign(result, compact((child as unknown[])[0]))
    else result[key] = compact(child)
  }
  return result
}

/** A property may itself be called `description`. */
function compactProperties(properties: Schema): Schema {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, compact(schema)]))
}

function referencesIn(schema: unknown): string[] {
  return [...JSON.stringify(schema).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!)
}

function collectDefinitions(specFolder: string): Record<string, Schema> {
  const found: Record<string, Schema> = {}
  for (const [document, group, kinds] of generatedKinds) {
    const text = readFileSync(join(specFolder, `${document}_openapi.json`), 'utf8')
    const all = JSON.parse(text).components.schemas as Record<string, Schema>
    const byShortName = new Map(Object.entries(all).map(([name, schema]) => [shorten(name), schema]))
    const queue = kinds.map((kind) => `${group}.${kind}`)
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
      if (found[name]) continue
      if (!byShortName.has(name)) throw new Error(`No definition of ${name} in ${document}`)
      const schema = compact(byShortName.get(name)) as Schema
      // Shared types such as DeleteOptions list every group that serves them; only the list of the kind itself is used.
      if (!kinds.some((kind) => name === `${group}.${kind}`)) delete schema['x-kubernetes-group-version-kind']
      found[name] = schema
      queue.push(...referencesIn(schema))
    }
  }
  return found
}

class GoTypes {
  readonly #packages = new Map<string, GoPackage>()
  readonly #folders: Readonly<Record<string, string>>
  /** Underlying types of the named types that fields use, by short name. */
  readonly named: Record<string, string> = {}

  constructor(folders: Readonly<Record<string, string>>) {
    this.#folders = folders
  }

  /** `core.v1` -> `k8s.io/api/core/v1`; the packages of apimachinery are listed by name. */
  static importPath(prefix: string): string {
    if (prefix === 'resource') return 'k8s.io/apimachinery/pkg/api/resource'
    if (prefix === 'runtime') return 'k8s.io/apimachinery/pkg/runtime'
    if (prefix === 'intstr') return 'k8s.io/apimachinery/pkg/util/intstr'
    if (prefix === 'types') return 'k8s.io/apimachinery/pkg/types'
    if (prefix === 'meta.v1') return 'k8s.io/apimachinery/pkg/apis/meta/v1'
    if (prefix === 'apiextensions.v1') return 'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1'
    return `k8s.io/api/${prefix.replace('.', '/')}`
  }

  static prefix(importPath: string): string {
    return importPath
      .replace(/^k8s\.io\/apiextensions-apiserver\/pkg\/apis\//, '')
      .replace(/^k8s\.io\/apimachinery\/pkg\/(?:apis|api|util)\//, '')
      .replace(/^k8s\.io\/(?:apimachinery\/pkg|api)\//, '')
      .replaceAll('/', '.')
  }

  package(prefix: string): GoPackage {
    let known = this.#packages.get(prefix)
    if (!known) {
      const path = GoTypes.importPath(prefix)
      const module = path.split('/').slice(0, 2).join('/')
      known = readGoPackage(join(this.#folders[module]!, path.slice(module.length)))
      this.#packages.set(prefix, known)
    }
    return known
  }

  /** A Go type with all names replaced by short names: `[]Container` in core/v1 -> `[]core.v1.Container`. */
  qualify(prefix: string, type: string): string {
    return type.replace(/([\w.]+)/g, (name) => {
      if (/^(?:map|string|bool|byte|u?int(?:8|16|32|64)?|float(?:32|64))$/.test(name)) return name
      const [alias, local] = name.includes('.') ? (name.split('.') as [string, string]) : [undefined, name]
      const home = alias === undefined ? prefix : GoTypes.prefix(this.package(prefix).imports.get(alias) ?? alias)
      return this.#resolve(home, local)
    })
  }

  #resolve(home: string, local: string): string {
    const underlying = this.package(home).named.get(local)
    const name = `${home}.${local}`
    if (underlying === undefined || name in this.named) return name
    this.named[name] = ''
    this.named[name] = this.qualify(home, underlying)
    return name
  }

  /** The fields of a struct as words: `name type flags`, inlined structs opened, their Go names after `^`. */
  fields(name: string, path = ''): string[] {
    const dot = name.lastIndexOf('.')
    const [prefix, local] = [name.slice(0, dot), name.slice(dot + 1)]
    const struct = this.package(prefix).structs.get(local)
    if (!struct) throw new Error(`No Go struct for ${name}`)
    return struct.flatMap((field) => {
      const type = this.qualify(prefix, field.type)
      if (field.json === '') return this.fields(type, path === '' ? field.goName : `${path}.${field.goName}`)
      const flags = `${field.omitEmpty ? 'e' : ''}${field.omitZero ? 'z' : ''}${path === '' ? '' : `^${path}`}`
      return [`${field.json} ${type} ${flags}`.trim()]
    })
  }
}

const definitions = collectDefinitions(join(moduleFolder('k8s.io/kubernetes'), 'api/openapi-spec/v3'))
const goTypes = new GoTypes({
  'k8s.io/api': moduleFolder('k8s.io/api'),
  'k8s.io/apimachinery': moduleFolder('k8s.io/apimachinery'),
  'k8s.io/apiextensions-apiserver': moduleFolder('k8s.io/apiextensions-apiserver'),
})
const structs: Record<string, string[]> = {}
for (const [name, schema] of Object.entries(definitions)) {
  if (schema.type === 'object') structs[name] = goTypes.fields(name)
}
const sorted = (table: object): object => Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)))
const value = { definitions: sorted(definitions), structs: sorted(structs), named: sorted(goTypes.named) }
writePackedModule({ target, tool: 'tools/builtins/generate.ts', name: 'packedSchemas', value })
