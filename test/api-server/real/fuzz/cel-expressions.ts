/** Random CEL expressions, made from the typed forms of cel-grammar.ts: most of them compile. */
import { forms, type Kind, literals } from './cel-grammar.ts'

/** The variables and fields that an expression can name, by type. */
export type Scope = Partial<Readonly<Record<Kind, readonly string[]>>>

/** Decisions from a list of numbers: shorter lists and smaller numbers give simpler expressions, so that failures shrink. */
export class Choices {
  /** Whether expressions may have type errors. */
  readonly isWild: boolean
  readonly #numbers: readonly number[]
  #next = 0

  constructor(numbers: readonly number[], isWild: boolean) {
    this.#numbers = numbers
    this.isWild = isWild
  }

  below(count: number): number {
    return (this.#numbers[this.#next++] ?? 0) % count
  }

  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!
  }
}

const kinds = Object.keys(literals) as Kind[]

/** In wild mode, one gap in so many gets an expression of a random type, to compare the messages of the type checker. */
const oddity = 50

export function expression(kind: Kind, scope: Scope, choices: Choices, depth: number): string {
  const odd = choices.isWild && choices.below(oddity) === oddity - 1 ? choices.of(kinds) : kind
  const wanted = isThere(odd, scope) ? odd : kind
  const named = scope[wanted] ?? []
  // Variables are twice as likely: an expression of literals only is folded at compile time, and may fail there.
  const leaves = [...named, ...named, ...literals[wanted]]
  const inner = depth > 0 ? forms[wanted].filter((form) => gapsOf(form).every((gap) => isThere(gap, scope))) : []
  if (inner.length === 0 || choices.below(3) === 0) return choices.of(leaves)
  return filled(choices.of(inner), scope, choices, depth)
}

/** Whether an expression of this type is possible: some types have no literals, and need a field of the object. */
function isThere(kind: Kind, scope: Scope): boolean {
  return literals[kind].length > 0 || scope[kind] !== undefined
}

const gap = /\{([a-z]+)(?: #([a-z]+))?\}/g

function gapsOf(form: string): Kind[] {
  // The variable of a macro is defined by the form itself.
  const own = form.includes('#port}') ? ['port'] : []
  return [...form.matchAll(gap)].map(([, kind]) => kind as Kind).filter((kind) => !own.includes(kind))
}

function filled(form: string, scope: Scope, choices: Choices, depth: number): string {
  const variable = `v${depth}`
  return form
    .replaceAll(gap, (_, kind: Kind, named?: Kind) => {
      const inside = named === undefined ? scope : { ...scope, [named]: [variable, ...(scope[named] ?? [])] }
      const text = expression(kind, inside, choices, depth - 1)
      return isAtom.test(text) ? text : `(${text})`
    })
    .replaceAll('#', variable)
}

/** Expressions that need no parentheses. */
const isAtom = /^[a-zA-Z_][\w.]*$|^'[^']*'$|^[\w.]+\([^()]*\)$/
