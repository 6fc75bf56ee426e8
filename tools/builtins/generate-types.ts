/**
 * Writes src/kube/builtins/**: the types and definitions of all built-in kinds, from the OpenAPI documents of the pinned Kubernetes
 * source. Run by maintainers after the pin in tools/envtest has moved: `npx tsx tools/builtins/generate-types.ts`.
 * The output depends on the documents only, so that a second run changes nothing.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { moduleFolder } from './go-modules.ts'
import { type ApiModule, type BuiltinKind, readApiModules, type Schema } from './openapi-documents.ts'

const target = fileURLToPath(new URL('../../src/kube/builtins/', import.meta.url))
const header = `/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */\n`

/** Schemas whose form in JSON is not that of their fields. */
const specialTypes: Readonly<Record<string, string>> = {
  'meta/v1.Time': 'string',
  'meta/v1.MicroTime': 'string',
  'meta/v1.FieldsV1': '{ [field: string]: unknown }',
  'meta/v1.RawExtension': '{ [field: string]: unknown }',
  'apiextensions/v1.JSON': 'unknown',
  'apiextensions/v1.JSONSchemaPropsOrBool': 'JSONSchemaProps | boolean',
  'apiextensions/v1.JSONSchemaPropsOrArray': 'JSONSchemaProps | JSONSchemaProps[]',
  'apiextensions/v1.JSONSchemaPropsOrStringArray': 'JSONSchemaProps | string[]',
}

/** Types that the package declares by hand, since users of \`kopf\` without built-in kinds need them too. */
const ownTypes: ReadonlySet<string> = new Set(['ObjectMeta', 'OwnerReference'])

const isStable = (version: string): boolean => /^v\d+$/.test(version)
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

class TypeWriter {
  readonly #module: ApiModule
  /** The imported names by module. */
  readonly imports = new Map<string, Set<string>>()

  constructor(module: ApiModule) {
    this.#module = module
  }

  typeOf(schema: Schema): string {
    const reference = schema.$ref ?? schema.allOf?.[0]?.$ref
    if (reference !== undefined) return this.#reference(reference)
    if (schema.type === 'array') return this.#arrayOf(this.typeOf(schema.items!))
    if (schema.type === 'integer' || schema.type === 'number') return 'number'
    if (schema.type === 'string' || schema.type === 'boolean') return schema.type
    if (typeof schema.additionalProperties === 'object') {
      return `{ [key: string]: ${this.typeOf(schema.additionalProperties)} }`
    }
    return schema.type === 'object' ? '{ [field: string]: unknown }' : 'unknown'
  }

  #arrayOf(item: string): string {
    return /^[\w.]+$/.test(item) ? `${item}[]` : `Array<${item}>`
  }

  #reference(id: string): string {
    const special = specialTypes[id]
    if (special !== undefined) return special
    const [module, name] = id.split('.') as [string, string]
    const home = module === 'meta/v1' && ownTypes.has(name) ? 'objects' : module
    if (home === this.#module.path) return name
    this.imports.set(home, (this.imports.get(home) ?? new Set()).add(name))
    // A type of the same name in this module would hide the imported one.
    return this.#module.schemas.has(name) ? `${aliasOf(home)}${name}` : name
  }

  importLines(): string {
    const lines = [...this.imports]
      .sort(([a], [b]) => byText(a, b))
      .map(([home, names]) => {
        const list = [...names].sort(byText).map((name) => {
          return this.#module.schemas.has(name) ? `${name} as ${aliasOf(home)}${name}` : name
        })
        const path = home === 'objects' ? '../../objects.ts' : `../${home}.generated.ts`
        return `import type { ${list.join(', ')} } from '${path}'\n`
      })
    return lines.join('')
  }
}

/** `core/v1` -> `Core`. */
function aliasOf(module: string): string {
  const group = module.split('/')[0]!
  return `${group[0]!.toUpperCase()}${group.slice(1)}`
}

/** Comments with at most this many characters: the first sentence, and further ones that fit. */
const maxComment = 300

function toComment(text: string | undefined): string | undefined {
  const line = (text ?? '').replaceAll('*/', '* /').replaceAll(/\s+/g, ' ').trim()
  const [first = '', ...rest] = line.split(/(?<=(?<!\b(?:e\.g|i\.e|etc|vs))\.) (?=[A-Z])/)
  let comment = first
  for (const sentence of rest) {
    if (sentence.startsWith('More info') || comment.length + sentence.length >= maxComment) break
    comment += ` ${sentence}`
  }
  return comment === '' ? undefined : comment
}

const withComment = (text: string | undefined, indent: string): string =>
  text === undefined ? '' : `${indent}/** ${text} */\n`

/** An object without a spec that has required fields would be rejected, although the documents call the spec optional. */
function isRequired(name: string, schema: Schema, parent: Schema, find: (id: string) => Schema | undefined): boolean {
  if (parent.required?.includes(name)) return true
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref
  return name === 'spec' && reference !== undefined && (find(reference)?.required ?? []).length > 0
}

function writeInterface(name: string, schema: Schema, context: ModuleContext): string {
  const { writer, module, find } = context
  const special = specialTypes[`${module.path}.${name}`]
  const comment = toComment(schema.description) ?? `The type \`${name}\` of the API.`
  if (special !== undefined) return `${withComment(comment, '')}export type ${name} = ${special}\n`
  if (schema.properties === undefined) return `${withComment(comment, '')}export type ${name} = ${aliasType(schema)}\n`
  const kind = schema.kind
  const fields = Object.entries(schema.properties).map(([field, property]) => {
    const head = kind === undefined ? undefined : kindField(field, kind)
    if (head !== undefined) return head
    const mark = isRequired(field, property, schema, find) || (kind && field === 'metadata') ? '' : '?'
    const key = /^[A-Za-z_]\w*$/.test(field) ? field : `'${field}'`
    return `${withComment(toComment(property.description) ?? `The field \`${field}\` of the API.`, '  ')}  ${key}${mark}: ${writer.typeOf(property)}\n`
  })
  return `${withComment(comment, '')}export interface ${name} {\n${fields.join('')}}\n`
}

/** A Quantity and an IntOrString are written as a number or as text. */
function aliasType(schema: Schema): string {
  if (schema.oneOf !== undefined || schema.format === 'int-or-string') return 'number | string'
  if (schema.type === 'string') return 'string'
  return '{ [field: string]: unknown }'
}

function kindField(field: string, { group, version, kind }: Pick<BuiltinKind, 'group' | 'version' | 'kind'>) {
  if (field === 'apiVersion')
    return `  /** The group and version. */\n  apiVersion: '${group === '' ? '' : `${group}/`}${version}'\n`
  if (field === 'kind') return `  /** The kind. */\n  kind: '${kind}'\n`
  return undefined
}

interface ModuleContext {
  readonly module: ApiModule
  readonly writer: TypeWriter
  readonly find: (id: string) => Schema | undefined
}

function writeModule(module: ApiModule, find: ModuleContext['find']): string {
  const writer = new TypeWriter(module)
  const resources = new Map(module.kinds.map((one) => [one.kind, one]))
  const isDeclared = (name: string) => module.path !== 'meta/v1' || !ownTypes.has(name)
  const parts = [...module.schemas]
    .filter(([name]) => isDeclared(name))
    .sort(([a], [b]) => byText(a, b))
    .map(([name, schema]) => {
      const resource = resources.get(name)
      const text = writeInterface(name, schema, { module, writer, find })
      return resource === undefined ? text : `${text}${writeDefinition(resource, schema)}`
    })
  const value =
    module.kinds.length === 0 ? '' : `import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'\n`
  const own = module.path === 'meta/v1' ? `export type { ${[...ownTypes].join(', ')} } from '../../objects.ts'\n` : ''
  return `${header}${value}${writer.importLines()}${own}\n${parts.join('\n')}`
}

function writeDefinition({ group, version, kind, plural, scope }: BuiltinKind, schema: Schema): string {
  const names = [group, version, kind, plural, scope].map((text) => `'${text}'`).join(', ')
  return `${withComment(toComment(schema.description) ?? `The resource \`${plural}\`.`, '')}export const ${kind}: BuiltinResource<${kind}, '${scope}'> = /* @__PURE__ */ defineBuiltin(${names})\n`
}

/** The kinds of stable versions under their plain names; of two groups, the core group; of two versions, the newer one. */
function preferredKinds(modules: readonly ApiModule[]): Map<string, BuiltinKind & { readonly module: string }> {
  const found = new Map<string, BuiltinKind & { readonly module: string }>()
  for (const { path, kinds } of modules) {
    for (const one of kinds) {
      const other = found.get(one.kind)
      const isBetter = other === undefined || (other.group === one.group && other.version < one.version)
      if (isStable(one.version) && (isBetter || one.group === '')) found.set(one.kind, { ...one, module: path })
    }
  }
  return found
}

/** Types of stable versions: those of the core group and of meta, and those whose name no other group has. */
function nestedTypes(modules: readonly ApiModule[], kinds: ReadonlyMap<string, unknown>): Map<string, string> {
  const homes = new Map<string, string[]>()
  for (const { path, schemas } of modules.filter(({ version }) => isStable(version))) {
    for (const name of schemas.keys()) {
      if (!kinds.has(name) && !ownTypes.has(name)) homes.set(name, [...(homes.get(name) ?? []), path])
    }
  }
  const found = new Map<string, string>()
  for (const [name, paths] of homes) {
    const groups = new Set(paths.map((path) => path.split('/')[0]!))
    const core = paths.find((path) => path === 'core/v1' || path === 'meta/v1')
    if (core !== undefined) found.set(name, core)
    else if (groups.size === 1) found.set(name, paths.sort(byText).at(-1)!)
  }
  return found
}

function writeIndex(modules: readonly ApiModule[]): string {
  const kinds = preferredKinds(modules)
  const lines: string[] = [`export type { ObjectMeta, OwnerReference } from '../objects.ts'\n`]
  lines.push(`export type { BuiltinResource } from './builtin-resource.ts'\n`)
  const nested = nestedTypes(modules, kinds)
  for (const { path } of modules) {
    const values = [...kinds].filter(([, one]) => one.module === path).map(([name]) => name)
    const types = [...nested].filter(([, home]) => home === path).map(([name]) => `type ${name}`)
    const names = [...values.sort(byText), ...types.sort(byText)]
    if (names.length > 0)
      lines.push(`export {\n${names.map((name) => `  ${name},\n`).join('')}} from './${path}.generated.ts'\n`)
  }
  const about = `/**
 * The built-in kinds of Kubernetes, each as a resource and as the type of its objects: \`kopf/kubernetes\`. Kinds and versions that are
 * not here are in \`kopf/kubernetes/<group>/<version>\`. Written by tools/builtins/generate-types.ts.
 *
 * @module kopf/kubernetes
 */\n`
  return `${about}${lines.join('')}`
}

/** The names by which \`ObjectOf\` finds the types of string notations. Stable versions only. */
function writeNames(modules: readonly ApiModule[]): string {
  const preferred = preferredKinds(modules)
  const objects = new Map<string, string>()
  const plurals = new Map<string, string>()
  const scopes = new Map<string, string>()
  for (const { path, kinds } of modules) {
    for (const { group, version, kind, plural, scope } of kinds.filter((one) => isStable(one.version))) {
      const type = `import('./${path}.generated.ts').${kind}`
      const isPreferred = preferred.get(kind)?.module === path
      const newest = modules
        .flatMap((one) => one.kinds)
        .filter((one) => one.group === group && one.kind === kind && isStable(one.version))
      objects.set(group === '' ? `${plural}.${version}` : `${plural}.${version}.${group}`, type)
      if (group !== '' && newest.every((one) => one.version <= version)) objects.set(`${plural}.${group}`, type)
      if (isPreferred) objects.set(plural, type)
      plurals.set(kind, plural).set(kind.toLowerCase(), plural)
      scopes.set(group === '' ? kind : `${kind}.${group}`, scope)
    }
  }
  const lines = (map: ReadonlyMap<string, string>, form: (value: string) => string) =>
    [...map]
      .sort(([a], [b]) => byText(a, b))
      .map(([name, value]) => `  '${name}': ${form(value)}\n`)
      .join('')
  return `${header}
/** The types of objects by the notations of their resources: \`pods\`, \`deployments.apps\`, \`deployments.v1.apps\`. */
export interface BuiltinObjects {\n${lines(objects, (type) => type)}}

/** The plurals by kind and by singular. */
export interface BuiltinPlurals {\n${lines(plurals, (plural) => `'${plural}'`)}}

/** The scopes by kind and group: \`Pod\`, \`Deployment.apps\`. */
export interface BuiltinScopes {\n${lines(scopes, (scope) => `'${scope}'`)}}
`
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(target, path)), { recursive: true })
  writeFileSync(join(target, path), text)
}

for (const entry of readdirSync(target, { recursive: true, encoding: 'utf8' })) {
  if (entry.endsWith('.generated.ts')) rmSync(join(target, entry))
}
const modules = readApiModules(join(moduleFolder('k8s.io/kubernetes'), 'api/openapi-spec/v3'))
const byPath = new Map(modules.map((module) => [module.path, module]))
const find = (id: string): Schema | undefined => byPath.get(id.split('.')[0]!)?.schemas.get(id.split('.')[1]!)
for (const module of modules) write(`${module.path}.generated.ts`, writeModule(module, find))
write('index.generated.ts', writeIndex(modules))
write('builtin-names.generated.ts', writeNames(modules))
console.log(`${modules.length} modules, ${modules.flatMap(({ kinds }) => kinds).length} kinds`)
