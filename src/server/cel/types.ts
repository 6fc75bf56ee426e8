/** CEL types as the type checker uses them. Inference is in assign.ts, values are in values.ts. */

type TypeKind =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'opaque'
  | 'param'
  | 'string'
  | 'struct'
  | 'timestamp'
  | 'type'
  | 'uint'

export interface CelType {
  readonly kind: TypeKind
  /** Name by which types of the same kind are compared. */
  readonly name: string
  readonly params: readonly CelType[]
  /** Types of the fields of a struct, by their escaped names. */
  readonly fields?: ReadonlyMap<string, CelType>
}

const simple = (kind: TypeKind, name: string = kind): CelType => ({ kind, name, params: [] })

export const boolType: CelType = simple('bool')
export const bytesType: CelType = simple('bytes')
export const doubleType: CelType = simple('double')
export const durationType: CelType = simple('duration', 'google.protobuf.Duration')
export const dynType: CelType = simple('dyn')
export const errorType: CelType = simple('error')
export const intType: CelType = simple('int')
export const nullType: CelType = simple('null', 'null_type')
export const stringType: CelType = simple('string')
export const timestampType: CelType = simple('timestamp', 'google.protobuf.Timestamp')
export const uintType: CelType = simple('uint')

export const listOf = (element: CelType): CelType => ({ kind: 'list', name: 'list', params: [element] })
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: 'map', name: 'map', params: [key, value] })
export const optionalOf = (value: CelType): CelType => ({ kind: 'opaque', name: 'optional_type', params: [value] })
export const typeOfType = (type: CelType): CelType => ({ kind: 'type', name: 'type', params: [type] })
export const param = (name: string): CelType => simple('param', name)
export const opaque = (name: string, ...params: CelType[]): CelType => ({ kind: 'opaque', name, params })
export const struct = (name: string, fields: ReadonlyMap<string, CelType> = new Map()): CelType => ({
  kind: 'struct',
  name,
  params: [],
  fields,
})

export const isDyn = (type: CelType): boolean => type.kind === 'dyn'
export const isDynOrError = (type: CelType): boolean => type.kind === 'dyn' || type.kind === 'error'

/** The type inside an optional, or the type itself. */
export function unwrapOptional(type: CelType): { readonly type: CelType; readonly isOptional: boolean } {
  const isOptional = type.kind === 'opaque' && type.name === 'optional_type'
  return { type: isOptional ? type.params[0]! : type, isOptional }
}

export function isSameType(left: CelType, right: CelType): boolean {
  if (left === right) return true
  if (left.kind !== right.kind || left.name !== right.name || left.params.length !== right.params.length) return false
  return left.params.every((one, index) => isSameType(one, right.params[index]!))
}

/** The type as error messages print it: `list(string)`. */
export function formatType(type: CelType): string {
  if (type.kind === 'error') return '!error!'
  if (type.kind === 'null' || type.kind === 'duration' || type.kind === 'timestamp') return type.kind
  return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(formatType).join(', ')})`
}

export function formatArguments(types: readonly CelType[], isMember: boolean): string {
  const args = isMember ? types.slice(1) : types
  return `${isMember ? `${formatType(types[0]!)}.` : ''}(${args.map(formatType).join(', ')})`
}
