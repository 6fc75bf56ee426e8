/**
 * The Go types of the built-in kinds, from the generated table: their fields, how each is encoded, and the names of the Go
 * types in error messages. Parsed at the first use of a kind; used by decoding, defaulting and encoding.
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
  /** JSON that is stored unchanged: managed fields and revisions. */
  | 'raw'

/** A Go type. `goName` is its name in the messages of Go's decoder: `v1.RestartPolicy`, `[]v1.Container`, `map[string]string`. */
export type GoFieldType =
  | { readonly tag: ScalarTag; readonly goName: string }
  | {
      readonly tag: 'list' | 'map'
      readonly goName: string
      readonly element: GoFieldType
      readonly pointerElements: boolean
    }
  | { readonly tag: 'struct'; readonly goName: string; readonly name: string }

export interface GoField {
  readonly name: string
  readonly type: GoFieldType
  readonly pointer: boolean
  readonly omitEmpty: boolean
  readonly omitZero: boolean
  /** Go names of the structs that this field is inlined from; error messages print them before the field. */
  readonly inlinedFrom: readonly string[]
  /** From a `+default` marker. Undefined if there is none or if it is Go's zero value. */
  readonly default: unknown
  /** Strategic merge patch strategy: `merge`, `replace`, `retainKeys`, a combination of these, or ''. */
  readonly patchStrategy: string
  /** Field that identifies the elements of a list that is merged. */
  readonly patchMergeKey: string
}

export interface GoStruct {
  /** Name in the generated table: `core.v1.PodSpec`. */
  readonly name: string
  /** Name in error messages: `PodSpec`. */
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
  // Types of CustomResourceDefinitions with their own UnmarshalJSON.
  ['apiextensions.v1.JSON', 'raw'],
  ['apiextensions.v1.JSONSchemaPropsOrArray', 'raw'],
  ['apiextensions.v1.JSONSchemaPropsOrBool', 'raw'],
  ['apiextensions.v1.JSONSchemaPropsOrStringArray', 'raw'],
])

/** `core.v1.PodSpec` → `v1.PodSpec`: Go prints the last element of the package and the type. */
function printGoType(type: string): string {
  return type.replace(/\[\]byte/g, '[]uint8').replace(/[\w.]+\.(\w+\.\w+)/g, '$1')
}

/** Parsed once per process and shared by all servers. */
let parsed: Schemas | undefined

function loadSchemas(): Schemas {
  parsed ??= unpackJson(packedSchemas) as Schemas
  return parsed
}

/** Undefined for zero values: the OpenAPI documents list them as defaults, but an absent field has the same meaning. */
function defaultOf(property: JsonObject | undefined): unknown {
  const value = property?.['default']
  return value === '' || value === 0 || value === false || value === null ? undefined : value
}

export class Types {
  readonly #structs = new Map<string, GoStruct>()

  /** OpenAPI definitions of all kinds by short name. References are short names as well. */
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

  #type(type: string): GoFieldType {
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

/** OpenAPI definitions with which server-side apply, patches and the OpenAPI documents resolve references. */
function builtinDefinitions(): { readonly [name: string]: JsonObject } {
  return loadSchemas().definitions
}

/** Merge behaviour of the fields of built-in types and of metadata, for managed fields. */
export const builtinFieldTypes: FieldTypes = new FieldTypes(builtinDefinitions)
