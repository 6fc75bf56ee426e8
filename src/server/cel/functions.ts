/** Declares functions for libraries, and matches overloads against argument values at evaluation. */
import type { Meter } from './failures.ts'
import type { CelType } from './types.ts'
import { CelList, CelMap, type CelValue, Opaque, Optional, typeNameOf } from './values.ts'

/** The target of a method is the first argument. */
export type Implementation = (args: readonly CelValue[], meter: Meter) => CelValue

export interface Overload {
  /** Overload id of cel-go; costs are defined by it. */
  readonly id: string
  readonly isMember: boolean
  readonly params: readonly CelType[]
  readonly result: CelType
  readonly run: Implementation
}

export type Library = Readonly<Record<string, readonly Overload[]>>

type Declare = (id: string, params: readonly CelType[], result: CelType, run: Implementation) => Overload

const declare =
  (isMember: boolean): Declare =>
  (id, params, result, run) => ({ id, isMember, params, result, run })

/** Declares a function: `f(a, b)`. */
export const global: Declare = declare(false)
/** Declares a method: `a.f(b)`. */
export const member: Declare = declare(true)

/** True if the value has the type. Elements of lists and maps are not checked. */
function hasType(value: CelValue, { kind, name }: CelType): boolean {
  switch (kind) {
    case 'dyn':
    case 'param':
      return true
    case 'list':
      return value instanceof CelList
    case 'map':
    case 'struct':
      return value instanceof CelMap || (value instanceof Opaque && value.typeName === name)
    case 'opaque':
      return name === 'optional_type' ? value instanceof Optional : value instanceof Opaque && value.typeName === name
    default:
      return typeNameOf(value) === name
  }
}

export function matches({ params }: Overload, args: readonly CelValue[]): boolean {
  return params.length === args.length && params.every((type, index) => hasType(args[index]!, type))
}

/** All functions by name, with the overloads of all libraries. */
export function joinLibraries(libraries: readonly Library[]): ReadonlyMap<string, readonly Overload[]> {
  const joined = new Map<string, Overload[]>()
  for (const library of libraries) {
    for (const [name, overloads] of Object.entries(library)) {
      joined.set(name, [...(joined.get(name) ?? []), ...overloads])
    }
  }
  return joined
}
