/** What the Go types of a kind say about patching their fields: strategies and merge keys, and what is inside. */
import type { GoField, GoType, Types } from '../builtins/types.ts'
import { failure } from './failures.ts'

/** The type of the value that is being merged. */
export interface Shape {
  readonly type: GoType
  readonly isPointer: boolean
}

export interface PatchField {
  /** Of the field, or of the elements where it is a list. */
  readonly shape: Shape
  /** `merge`, `replace` or nothing; `retainKeys` beside it is a matter of clients. */
  readonly strategy: string
  readonly mergeKey: string
}

/** A field that holds an object. */
export function lookupField(types: Types, { type }: Shape, key: string): PatchField {
  const field = fieldOf(types, type, key)
  const strategy = field.patchStrategy.split(',').filter((one) => one !== 'retainKeys')
  return {
    shape: { type: field.type, isPointer: field.pointer },
    strategy: strategy[0] ?? '',
    mergeKey: field.patchMergeKey,
  }
}

/** A field that holds a list. */
export function lookupList(types: Types, shape: Shape, key: string): PatchField {
  const found = lookupField(types, shape, key)
  const { type, isPointer } = found.shape
  if (type.tag === 'list') return { ...found, shape: { type: type.element, isPointer: type.pointerElements } }
  if (isPointer || type.tag === 'bytes') return { ...found, shape: { type, isPointer: false } }
  throw failure(`expected slice or array type, but got: ${kindOf(shape)}`)
}

function fieldOf(types: Types, type: GoType, key: string): GoField {
  const kind = kindOf({ type, isPointer: false })
  if (kind !== 'struct') {
    throw failure(`merging an object in json but data type is not struct, instead is: ${kind}`)
  }
  const struct = type.tag === 'struct' ? types.struct(type.name) : undefined
  // Go finds fields whatever the case of their names, if it has to.
  const field = struct?.byName.get(key) ?? struct?.fields.find(({ name }) => name.toLowerCase() === key.toLowerCase())
  if (field !== undefined) return field
  const name = type.goName.replace(/^.*\./, '')
  throw failure(`unable to find api field in struct ${name} for the json field ${JSON.stringify(key)}`)
}

const kinds: Readonly<Record<GoType['tag'], string>> = {
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

/** As `reflect` names it. */
export function kindOf({ type, isPointer }: Shape): string {
  return isPointer ? 'ptr' : kinds[type.tag]
}
