/**
 * The macros: what looks like a function and becomes a fold over a range. The folds are cel-go's to the node, for what they
 * cost is counted by node. Called by parse.ts with arguments that are parsed already.
 */
import { accumulatorName, call, type Expr, type Fold, ident, list, literal, partsOf } from './ast.ts'

/** A macro with arguments that it cannot have. */
export class MacroProblem extends Error {
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

/** Optionals double their target with each macro in a row; past this many nodes it is no expression any more. */
const maxNodes = 50_000

type Args = readonly Expr[]
type Expander = (at: number, args: Args, target: Expr) => Expr

/** By name and number of arguments. */
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

/** Undefined where the name with so many arguments is no macro. */
export function expandMacro(at: number, name: string, args: Args, target: Expr | undefined): Expr | undefined {
  if (target) return memberMacros[`${name}/${args.length}`]?.(at, args, target)
  if (name !== 'has' || args.length !== 1) return undefined
  const [operand] = args
  if (operand!.kind !== 'select') throw new MacroProblem(operand!.at, 'invalid argument to has() macro')
  return { ...operand!, at, isTest: true }
}

type Parts = Pick<Fold, 'initial' | 'condition' | 'step' | 'result'>

const accumulator = (at: number): Expr => ident(at, accumulatorName)

function fold(at: number, range: Expr, args: Args, count: 1 | 2, parts: Parts): Fold {
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

function allParts(at: number, predicate: Expr): Parts {
  return {
    initial: literal(at, true),
    condition: call(at, '@not_strictly_false', [accumulator(at)]),
    step: call(at, '_&&_', [accumulator(at), predicate]),
    result: accumulator(at),
  }
}

function existsParts(at: number, predicate: Expr): Parts {
  return {
    initial: literal(at, false),
    condition: call(at, '@not_strictly_false', [call(at, '!_', [accumulator(at)])]),
    step: call(at, '_||_', [accumulator(at), predicate]),
    result: accumulator(at),
  }
}

function existsOneParts(at: number, predicate: Expr): Parts {
  const more = call(at, '_+_', [accumulator(at), literal(at, 1n)])
  return {
    initial: literal(at, 0n),
    condition: literal(at, true),
    step: call(at, '_?_:_', [predicate, more, accumulator(at)]),
    result: call(at, '_==_', [accumulator(at), literal(at, 1n)]),
  }
}

function listParts(at: number, filter: Expr | undefined, item: Expr): Parts {
  const more = call(at, '_+_', [accumulator(at), list(at, [item])])
  return {
    initial: list(at, []),
    condition: literal(at, true),
    step: filter ? call(at, '_?_:_', [filter, more, accumulator(at)]) : more,
    result: accumulator(at),
  }
}

function mapParts(at: number, filter: Expr | undefined, inserted: Args): Parts {
  const more = call(at, 'cel.@mapInsert', [accumulator(at), ...inserted])
  return {
    initial: { kind: 'map', at, entries: [] },
    condition: literal(at, true),
    step: filter ? call(at, '_?_:_', [filter, more, accumulator(at)]) : more,
    result: accumulator(at),
  }
}

/** A fold over nothing, whose accumulator is the value: how CEL binds a name. */
function bind(at: number, name: string, value: Expr, result: Expr): Fold {
  const nothing = { range: list(at, []), variable: '#unused', variable2: undefined, condition: literal(at, false) }
  return { kind: 'fold', at, ...nothing, accumulator: name, initial: value, step: ident(at, name), result }
}

function optional(at: number, [variable, body]: Args, target: Expr, name: 'optMap' | 'optFlatMap'): Expr {
  if (variable!.kind !== 'ident') {
    throw new MacroProblem(variable!.at, `${name}() variable name must be a simple identifier`)
  }
  if (countNodes(target, maxNodes) >= maxNodes) throw new MacroProblem(at, 'expression too large after macros')
  const bound = bind(at, variable!.name, call(at, 'value', [], target), body!)
  const yes = name === 'optMap' ? call(at, 'optional.of', [bound]) : bound
  return call(at, '_?_:_', [call(at, 'hasValue', [], target), yes, call(at, 'optional.none', [])])
}

/** `list.sortBy(x, key)`: the list is bound to a name, its keys are a list of their own, and a function sorts by them. */
function sortBy(at: number, args: Args, target: Expr): Expr {
  if (target.kind === 'literal' || target.kind === 'map' || target.kind === 'message') {
    const message = 'sortBy can only be applied to a list, identifier, comprehension, call or select expression'
    throw new MacroProblem(target.at, message)
  }
  const input = '@__sortBy_input__'
  const keys = fold(at, ident(at, input), args, 1, listParts(at, undefined, args[1]!))
  return bind(at, input, target, call(at, '@sortByAssociatedKeys', [keys], ident(at, input)))
}

/** Up to the limit. */
function countNodes(expr: Expr, limit: number): number {
  let count = 1
  for (const part of partsOf(expr)) {
    if (count >= limit) break
    count += countNodes(part, limit - count)
  }
  return count
}
