/** Checks the arguments of `format` against a constant format string. Called by constants.ts. */
import { type Expr, partsOf } from '../ast.ts'
import type { CelType } from '../types.ts'

const kinds = 'strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps'
const texts = [
  'list',
  'map',
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'timestamp',
  'bytes',
  'duration',
  'type',
  'null',
]

/** Types accepted by each clause, and the error for other types. */
const clauses: Readonly<Record<string, readonly [kinds: readonly string[], problem: string]>> = {
  s: [texts, `string clause can only be used on ${kinds}`],
  d: [['int', 'uint'], 'decimal clause can only be used on integers'],
  f: [['double', 'string'], 'fixed-point clause can only be used on doubles'],
  e: [['double', 'string'], 'scientific clause can only be used on doubles'],
  b: [['int', 'uint', 'bool'], 'only integers and bools can be formatted as binary'],
  o: [['int', 'uint'], 'octal clause can only be used on integers'],
  x: [['int', 'uint', 'string', 'bytes'], 'only integers, byte buffers, and strings can be formatted as hex'],
}

interface FormatProblem {
  readonly at: number
  readonly message: string
}

export function formatCheckProblem(format: Expr, list: Expr, at: number): FormatProblem | undefined {
  if (format.kind !== 'literal' || typeof format.value !== 'string' || list.kind !== 'list') return undefined
  let count = 0
  for (const [piece, clause] of format.value.matchAll(/%%|%(?:\.\d+)?([\s\S]?)/g)) {
    if (piece === '%%') continue
    const argument = list.elements[count]
    if (!argument) return { at, message: `index ${count} out of range` }
    if (clause === undefined || clause === '') return { at, message: 'unexpected end of string' }
    const problem = clauseProblem(clause, argument, at)
    if (problem) return problem
    count += 1
  }
  if (list.elements.length <= count) return undefined
  const message = `too many arguments supplied to string.format (expected ${count}, got ${list.elements.length})`
  return { at, message }
}

function clauseProblem(clause: string, argument: Expr, at: number): FormatProblem | undefined {
  const known = clauses[clause === 'X' ? 'x' : clause]
  if (!known) return { at, message: `could not parse formatting clause: unrecognized formatting clause "${clause}"` }
  const [kinds, problem] = known
  const wrong = clause === 's' ? findOther(argument, kinds) : isOneOf(argument, kinds) ? undefined : argument
  return wrong && { at: wrong.at, message: `error during formatting: ${problem}, was given ${typeName(wrong.type!)}` }
}

const isOneOf = ({ type }: Expr, kinds: readonly string[]): boolean =>
  type!.kind === 'dyn' || kinds.includes(type!.kind)

/** Searches list and map literals recursively. */
function findOther(expr: Expr, kinds: readonly string[]): Expr | undefined {
  if (!isOneOf(expr, kinds)) return expr
  const parts = expr.kind === 'list' || expr.kind === 'map' ? partsOf(expr) : []
  for (const part of parts) {
    const other = findOther(part, kinds)
    if (other) return other
  }
  return undefined
}

const typeName = ({ name }: CelType): string => name
