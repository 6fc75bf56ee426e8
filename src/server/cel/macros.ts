/**
 * Expands macros to folds. The folds equal cel-go's node by node, because costs are counted per node. Called by parse.ts with
 * parsed arguments.
 */
import { accumulatorName, call, type Expr, type Fold, ident, list, literal, partsOf } from './ast.ts'

/** A macro with invalid arguments. */
export class MacroProblem extends Error {
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

/** Limit on nodes: each macro on an optional duplicates its target, so chained macros double the size. */
const maxNodes = 50_000

type MacroArgs = readonly Expr[]
type Expander = (at: number, args: MacroArgs, target: Expr) => Expr

/** Keyed by name and number of arguments. */
const memberMacros: Readonly<Record<string, Expander>> = {
  'all/2': (at, args, target) => fold(at, target, args, 1, allParts(at, args[1]!)),
  'all/3': (at, args, target) => fold(at, target, args, 2, allParts(at, args[2]!)),
  'exists/2': (at, args, target) => fold(at, target, args, 1, existsParts(at, args[1]!)),
  'exists/3': (at, args, target) => fold(at, target, args, 2, existsParts(at, args[2]!)),
  'exists_one/2': (at, args, target) => fold(at, target, args, 1, existsOneParts(at, args[1]!)),
  'exists_one/3': (at, args, target) => fold(at, target, args, 2, existsOneParts(at, args[2]!)),
  'existsOne/2': (at, args, target) => fold(at, target, args, 1, existsOneParts(at, args[1]!)),
  'existsOne/3': (at, args, target) => fold(at, target, args, 2, existsOneParts(at, args[2]!)),
  'filter/2': (at, args, target) => fold(at, target, args, 1, listParts(at, args[1]!, args[0]!)),
  'map/2': (at, args, target) => fold(at, target, args, 1, listParts(at, undefined, args[1]!)),
  'map/3': (at, args, target) => fold(at, target, args, 1, listParts(at, args[1]!, args[2]!)),
  'transformList/3': (at, args, target) => fold(at, target, args, 2, listParts(at, undefined, args[2]!)),
  'transformList/4': (at, args, target) => fold(at, target, args, 2, listParts(at, args[2]!, args[3]!)),
  'transformMap/3': (at, args, target) => fold(at, target, args, 2, mapParts(at, undefined, [args[0]!, args[2]!])),
  'transformMap/4': (at, args, target) => fold(at, target, args, 2, mapParts(at, args[2]!, [args[0]!, args[3]!])),
  'transformMapEntry/3': (at, args, target) => fold(at, target, args, 2, mapParts(at, undefined, [args[2]!])),
  'transformMapEntry/4': (at, args, target) => fold(at, target, args, 2, mapParts(at, args[2]!, [args[3]!])),
  'sortBy/2': sortBy,
  'optMap/2': (at, args, target) => optional(at, args, target, 'optMap'),
  'optFlatMap/2': (at, args, target) => optional(at, args, target, 'optFlatMap'),
}

/** Undefined if there is no macro with that name and number of arguments. */
export function expandMacro(at: number, name: string, args: MacroArgs, target: Expr | undefined): Expr | undefined {
  if (target) return memberMacros[`${name}/${args.length}`]?.(at, args, target)
  if (name !== 'has' || args.length !== 1) return undefined
  const [operand] = args
  if (operand!.kind !== 'select') throw new MacroProblem(operand!.at, 'invalid argument to has() macro')
  return { ...operand!, at, isTest: true }
}

type MacroFold = Pick<Fold, 'initial' | 'condition' | 'step' | 'result'>

const accumulator = (at: number): Expr => ident(at, accumulatorName)

function fold(at: number, range: Expr, args: MacroArgs, count: 1 | 2, parts: MacroFold): Fold {
  const names = args.slice(0, count).map((arg) => {
    if (arg.kind !== 'ident' || arg.name.startsWith('.')) {
      throw new MacroProblem(arg.at, 'argument must be a simple name')
    }
    if (arg.name === accumulatorName || arg.name === '__result__') {
      throw new MacroProblem(arg.at, 'iteration variable overwrites accumulator variable')
    }
    return arg.name
  })
  if (names[0] === names[1]) throw new MacroProblem(args[1]!.at, `duplicate variable name: ${names[0]}`)
  return { kind: 'fold', at, range, variable: names[0]!, variable2: names[1], accumulator: accumulatorName, ...parts }
}

function allParts(at: number, predicate: Expr): MacroFold {
  return {
    initial: literal(at, true),
    condition: call(at, '@not_strictly_false', [accumulator(at)]),
    step: call(at, '_&&_', [accumulator(at), predicate]),
    result: accumulator(at),
  }
}

function existsParts(at: number, predicate: Expr): MacroFold {
  return {
    initial: literal(at, false),
    condition: call(at, '@not_strictly_false', [call(at, '!_', [accumulator(at)])]),
    step: call(at, '_||_', [accumulator(at), predicate]),
    result: accumulator(at),
  }
}

function existsOneParts(at: number, predicate: Expr): MacroFold {
  const more = call(at, '_+_', [accumulator(at), literal(at, 1n)])
  return {
    initial: literal(at, 0n),
    condition: literal(at, true),
    step: call(at, '_?_:_', [predicate, more, accumulator(at)]),
    result: call(at, '_==_', [accumulator(at), literal(at, 1n)]),
  }
}

function listParts(at: number, filter: Expr | undefined, item: Expr): MacroFold {
  const more = call(at, '_+_', [accumulator(at), list(at, [item])])
  return {
    initial: list(at, []),
    condition: literal(at, true),
    step: filter ? call(at, '_?_:_', [filter, more, accumulator(at)]) : more,
    result: accumulator(at),
  }
}

function mapParts(at: number, filter: Expr | undefined, inserted: MacroArgs): MacroFold {
  const more = call(at, 'cel.@mapInsert', [accumulator(at), ...inserted])
  return {
    initial: { kind: 'map', at, entries: [] },
    condition: literal(at, true),
    step: filter ? call(at, '_?_:_', [filter, more, accumulator(at)]) : more,
    result: accumulator(at),
  }
}

/** A fold over an empty list whose accumulator is the value: CEL's way to bind a name. */
function bind(at: number, name: string, value: Expr, result: Expr): Fold {
  const nothing = { range: list(at, []), variable: '#unused', variable2: undefined, condition: literal(at, false) }
  return { kind: 'fold', at, ...nothing, accumulator: name, initial: value, step: ident(at, name), result }
}

function optional(at: number, [variable, body]: MacroArgs, target: Expr, name: 'optMap' | 'optFlatMap'): Expr {
  if (variable!.kind !== 'ident') {
    throw new MacroProblem(variable!.at, `${name}() variable name must be a simple identifier`)
  }
  if (countNodes(target, maxNodes) >= maxNodes) throw new MacroProblem(at, 'expression too large after macros')
  const bound = bind(at, variable!.name, call(at, 'value', [], target), body!)
  const yes = name === 'optMap' ? call(at, 'optional.of', [bound]) : bound
  return call(at, '_?_:_', [call(at, 'hasValue', [], target), yes, call(at, 'optional.none', [])])
}

/**
 * Expands `list.sortBy(x, key)`: binds the list to a name, computes the list of keys, and calls a function that sorts by these
 * keys.
 */
function sortBy(at: number, args: MacroArgs, target: Expr): Expr {
  if (target.kind === 'literal' || target.kind === 'map' || target.kind === 'message') {
    const message = 'sortBy can only be applied to a list, identifier, comprehension, call or select expression'
    throw new MacroProblem(target.at, message)
  }
  const input = '@__sortBy_input__'
  const keys = fold(at, ident(at, input), args, 1, listParts(at, undefined, args[1]!))
  return bind(at, input, target, call(at, '@sortByAssociatedKeys', [keys], ident(at, input)))
}

/** Stops counting at the limit. */
function countNodes(expr: Expr, limit: number): number {
  let count = 1
  for (const part of partsOf(expr)) {
    if (count >= limit) break
    count += countNodes(part, limit - count)
  }
  return count
}
