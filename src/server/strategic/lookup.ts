/** Looks up patch strategies, merge keys and types of fields in the Go types of a kind. */
import type { GoField, GoFieldType, Types } from '../builtins/types.ts'
import { failure } from './failures.ts'

/** The type of a merged value. */
export interface MergedType {
  readonly type: GoFieldType
  readonly isPointer: boolean
}

export interface PatchField {
  /** The type of the field, or of the elements for a list. */
  readonly shape: MergedType
  /** `merge`, `replace` or ''; `retainKeys` only concerns clients. */
  readonly strategy: string
  readonly mergeKey: string
}

/** Looks up a field with an object. */
export function lookupField(types: Types, { type }: MergedType, key: string): PatchField {
  const field = fieldOf(types, type, key)
  const strategy = field.patchStrategy.split(',').filter((one) => one !== 'retainKeys')
  return {
    shape: { type: field.type, isPointer: field.pointer },
    strategy: strategy[0] ?? '',
    mergeKey: field.patchMergeKey,
  }
}

/** Looks up a field with a list. */
export function lookupList(types: Types, shape: MergedType, key: string): PatchField {
  const found = lookupField(types, shape, key)
  const { type, isPointer } = found.shape
  if (type.tag === 'list') return { ...found, shape: { type: type.element, isPointer: type.pointerElements } }
  if (isPointer || type.tag === 'bytes') return { ...found, shape: { type, isPointer: false } }
  throw failure(`expected slice or array type, but got: ${kindOf(shape)}`)
}

function fieldOf(types: Types, type: GoFieldType, key: string): GoField {
  const kind = kindOf({ type, isPointer: false })
  if (kind !== 'struct') {
    throw failure(`merging an object in json but data type is not struct, instead is: ${kind}`)
  }
  const struct = type.tag === 'struct' ? types.struct(type.name) : undefined
  // Go matches field names case-insensitively if there is no exact match.
  const field = struct?.byName.get(key) ?? struct?.fields.find(({ name }) => name.toLowerCase() === key.toLowerCase())
  if (field !== undefined) return field
  const name = type.goName.replace(/^.*\./, '')
  throw failure(`unable to find api field in struct ${name} for the json field ${JSON.stringify(key)}`)
}

const kinds: Readonly<Record<GoFieldType['tag'], string>> = {
  struct: 'struct',
  list: 'slice',
  map: 'map',
  string: 'string',
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  float: 'float64',
  bytes: 'slice',
  time: 'struct',
  microTime: 'struct',
  quantity: 'struct',
  intOrString: 'struct',
  raw: 'struct',
}

/** The name of the kind in Go's `reflect`. */
export function kindOf({ type, isPointer }: MergedType): string {
  return isPointer ? 'ptr' : kinds[type.tag]
}
