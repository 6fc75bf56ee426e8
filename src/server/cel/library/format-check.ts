/** Whether the arguments of `format` fit a format that is a constant. Called by constants.ts. */
import type { Expr } from '../ast.ts'
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

/** The types that each clause takes, and what is said of others. */
const clauses: Readonly<Record<string, readonly [kinds: readonly string[], problem: string]>> = {
  s: [texts, `string clause can only be used on ${kinds}`],
  d: [['int', 'uint'], 'decimal clause can only be used on integers'],
  f: [['double', 'string'], 'fixed-point clause can only be used on doubles'],
  e: [['double', 'string'], 'scientific clause can only be used on doubles'],
  b: [['int', 'uint', 'bool'], 'only integers and bools can be formatted as binary'],
  o: [['int', 'uint'], 'octal clause can only be used on integers'],
  x: [['int', 'uint', 'string', 'bytes'], 'only integers, byte buffers, and strings can be formatted as hex'],
}

interface Problem {
  readonly at: number
  readonly message: string
}

export function formatCheckProblem(format: Expr, list: Expr, at: number): Problem | undefined {
  if (format.kind !== 'literal' || typeof format.value !== 'string' || list.kind !== 'list') return undefined
  let count = 0
  for (const [piece, clause] of format.value.matchAll(/%%|%(?:\.\d+)?([\s\S]?)/g)) {
    if (piece === '%%') continue
    const argument = list.elements[count]
    if (!argument) return { at, message: `index ${count} out of range` }
    if (clause === undefined || clause === '') return { at, message: 'unexpected end of string' }
    const message = clauseProblem(clause, argument)
    if (message) return { at: message.startsWith('error') ? argument.at : at, message }
    count += 1
  }
  if (list.elements.length <= count) return undefined
  const message = `too many arguments supplied to string.format (expected ${count}, got ${list.elements.length})`
  return { at, message }
}

function clauseProblem(clause: string, argument: Expr): string | undefined {
  const known = clauses[clause === 'X' ? 'x' : clause]
  if (!known) return `could not parse formatting clause: unrecognized formatting clause "${clause}"`
  const type = argument.type!
  if (type.kind === 'dyn' || known[0].includes(type.kind)) return undefined
  return `error during formatting: ${known[1]}, was given ${typeName(type)}`
}

const typeName = ({ name }: CelType): string => name
