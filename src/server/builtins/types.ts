/**
 * The Go types that the built-in kinds are made of, from the generated table: which fields, how each is encoded, what its
 * Go type is called in error messages. Parsed when a kind is first used; decoding, defaulting and encoding walk these.
 */
import type { JsonObject } from '../../kube/objects.ts'
import { FieldTypes } from '../ownership/field-types.ts'
import { unpackJson } from '../packed-json.ts'
import { packedSchemas } from './schemas.generated.ts'

export type ScalarTag =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'float'
  | 'bytes'
  | 'time'
  | 'microTime'
  | 'quantity'
  | 'intOrString'
  /** JSON that is kept as it came: managed fields and revisions. */
  | 'raw'

/** One Go type. `goName` is what Go's decoder calls it: `v1.RestartPolicy`, `[]v1.Container`, `map[string]string`. */
export type GoType =
  | { readonly tag: ScalarTag; readonly goName: string }
  | {
      readonly tag: 'list' | 'map'
      readonly goName: string
      readonly element: GoType
      readonly pointerElements: boolean
    }
  | { readonly tag: 'struct'; readonly goName: string; readonly name: string }

export interface GoField {
  readonly name: string
  readonly type: GoType
  readonly pointer: boolean
  readonly omitEmpty: boolean
  readonly omitZero: boolean
  /** Go names of the structs this field was inlined from, as error messages spell them before the field. */
  readonly inlinedFrom: readonly string[]
  /** From a `+default` marker; undefined where there is none or where it is Go's zero value anyway. */
  readonly default: unknown
  /** How a strategic merge patch treats it: `merge`, `replace`, `retainKeys`, some of these, or nothing. */
  readonly patchStrategy: string
  /** The field that tells the elements of a list apart that is to be merged. */
  readonly patchMergeKey: string
}

export interface GoStruct {
  /** `core.v1.PodSpec`: the name in the tables. */
  readonly name: string
  /** `PodSpec`: the name in error messages. */
  readonly goName: string
  readonly fields: readonly GoField[]
  readonly byName: ReadonlyMap<string, GoField>
}

interface Schemas {
  readonly definitions: { readonly [name: string]: JsonObject }
  readonly structs: { readonly [name: string]: readonly string[] }
  readonly named: { readonly [name: string]: string }
}

const scalars: ReadonlyMap<string, ScalarTag> = new Map([
  ['string', 'string'],
  ['bool', 'bool'],
  ['int32', 'int32'],
  ['int64', 'int64'],
  ['int', 'int64'],
  ['float64', 'float'],
  ['[]byte', 'bytes'],
  ['meta.v1.Time', 'time'],
  ['meta.v1.MicroTime', 'microTime'],
  ['resource.Quantity', 'quantity'],
  ['intstr.IntOrString', 'intOrString'],
  ['meta.v1.FieldsV1', 'raw'],
  ['runtime.RawExtension', 'raw'],
  // Of definitions, which read these themselves.
  ['apiextensions.v1.JSON', 'raw'],
  ['apiextensions.v1.JSONSchemaPropsOrArray', 'raw'],
  ['apiextensions.v1.JSONSchemaPropsOrBool', 'raw'],
  ['apiextensions.v1.JSONSchemaPropsOrStringArray', 'raw'],
])

/** `core.v1.PodSpec` -> `v1.PodSpec`: Go prints the last part of the package and the type. */
function printGoType(type: string): string {
  return type.replace(/\[\]byte/g, '[]uint8').replace(/[\w.]+\.(\w+\.\w+)/g, '$1')
}

/** Parsed once, however many servers there are. */
let parsed: Schemas | undefined

function loadSchemas(): Schemas {
  parsed ??= unpackJson(packedSchemas) as Schemas
  return parsed
}

/** Zero values stand in the OpenAPI documents too, but an absent field already means them. */
function defaultOf(property: JsonObject | undefined): unknown {
  const value = property?.['default']
  return value === '' || value === 0 || value === false || value === null ? undefined : value
}

export class Types {
  readonly #structs = new Map<string, GoStruct>()

  /** OpenAPI definitions of all kinds by short name, references being short names too. */
  get definitions(): Schemas['definitions'] {
    return loadSchemas().definitions
  }

  struct(name: string): GoStruct {
    const known = this.#structs.get(name)
    if (known) return known
    const words = loadSchemas().structs[name]
    if (!words) throw new Error(`Unknown type ${name}`)
    const fields = words.map((text) => this.#field(name, text))
    const byName = new Map(fields.map((field) => [field.name, field]))
    const struct = { name, goName: name.replace(/^.*\./, ''), fields, byName }
    this.#structs.set(name, struct)
    return struct
  }

  #field(struct: string, text: string): GoField {
    const [name = '', type = '', flags = ''] = text.split(' ')
    const [options = '', path] = flags.split('^')
    const pointer = type.startsWith('*')
    const property = this.#property(struct, name)
    return {
      name,
      type: this.#type(pointer ? type.slice(1) : type),
      pointer,
      omitEmpty: options.includes('e'),
      omitZero: options.includes('z'),
      inlinedFrom: path === undefined ? [] : path.split('.'),
      default: defaultOf(property),
      patchStrategy: String(property?.['x-kubernetes-patch-strategy'] ?? ''),
      patchMergeKey: String(property?.['x-kubernetes-patch-merge-key'] ?? ''),
    }
  }

  #property(struct: string, field: string): JsonObject | undefined {
    const properties = this.definitions[struct]?.properties as { [name: string]: JsonObject } | undefined
    return properties?.[field]
  }

  #type(type: string): GoType {
    const goName = printGoType(type)
    const underlying = loadSchemas().named[type] ?? type
    const scalar = scalars.get(underlying)
    if (scalar) return { tag: scalar, goName }
    const container = /^(?:(\[\])|map\[[\w.]+\])(\*?)(.*)$/.exec(underlying)
    if (!container) return { tag: 'struct', goName, name: underlying }
    const [, list, pointer, element] = container
    return { tag: list ? 'list' : 'map', goName, element: this.#type(element!), pointerElements: pointer === '*' }
  }
}

/** OpenAPI definitions for whoever resolves the references in a resource's `openapi`: applying, patching, documents. */
function builtinDefinitions(): { readonly [name: string]: JsonObject } {
  return loadSchemas().definitions
}

/** How the fields of built-in types are owned, and those of metadata, which all objects have. */
export const builtinFieldTypes: FieldTypes = new FieldTypes(builtinDefinitions)
