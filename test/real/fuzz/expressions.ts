/** Random expressions in CEL by the forms of grammar.ts, of which each says what goes into its gaps: most of them compile. */
import { forms, type Kind, literals } from './grammar.ts'

/** What there is to be named, by what it is. */
export type Scope = Partial<Readonly<Record<Kind, readonly string[]>>>

/** Decisions from a list of numbers: the shorter the list and the smaller the numbers, the simpler what comes of it. */
export class Choices {
  /** Whether what is refused is welcome. */
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

/** One gap in so many may be filled with whatever comes, for the sake of what the checker says to it. */
const oddity = 50

export function expression(kind: Kind, scope: Scope, choices: Choices, depth: number): string {
  const odd = choices.isWild && choices.below(oddity) === oddity - 1 ? choices.of(kinds) : kind
  const wanted = isThere(odd, scope) ? odd : kind
  const named = scope[wanted] ?? []
  // Twice as often, since what is made of literals alone is computed, and may fail, before there is an object.
  const leaves = [...named, ...named, ...literals[wanted]]
  const inner = depth > 0 ? forms[wanted].filter((form) => gapsOf(form).every((gap) => isThere(gap, scope))) : []
  if (inner.length === 0 || choices.below(3) === 0) return choices.of(leaves)
  return filled(choices.of(inner), scope, choices, depth)
}

/** Of some kinds there are no literals: they have to come from the object. */
function isThere(kind: Kind, scope: Scope): boolean {
  return literals[kind].length > 0 || scope[kind] !== undefined
}

const gap = /\{([a-z]+)(?: #([a-z]+))?\}/g

function gapsOf(form: string): Kind[] {
  // The variable of a macro is there whatever the object has.
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

/** What needs no brackets wherever it stands. */
const isAtom = /^[a-zA-Z_][\w.]*$|^'[^']*'$|^[\w.]+\([^()]*\)$/
