/** What came of looking after the children of an object: what was done, what is waited for, what went wrong. */
import { TemporaryError } from '../../errors.ts'

type ProblemReason = 'ChildRefused' | 'KindMissing' | 'ChildContested'

/** Something that people should know of, as long as it is so. */
export interface Problem {
  readonly reason: ProblemReason
  readonly message: string
}

/** More objects than these are not named in a condition. */
const maxNamed = 10

export class Report {
  /** Objects that exist under the names of children and are left alone on purpose, in words. */
  readonly left: string[] = []
  readonly problems: Problem[] = []
  readonly #failures: string[] = []
  /** What has to happen before there is more to do. */
  waits: readonly string[] = []
  /** There are children of kinds of which nothing is known. */
  isBlind: boolean = false
  /** When to look again although nothing happens. */
  wakeMs: number = Infinity

  get hasFailed(): boolean {
    return this.#failures.length > 0
  }

  fail(words: string): void {
    this.#failures.push(words)
    this.problems.push({ reason: 'ChildRefused', message: words })
  }

  lookAgainAfter(delayMs: number): void {
    this.wakeMs = Math.min(this.wakeMs, delayMs)
  }

  /** One error for all of them, in their order: whatever it is that the server minds, it may be over after a while. */
  toError(delayMs: number): TemporaryError {
    return new TemporaryError(this.#failures.join('; '), { delay: delayMs / 1000 })
  }

  /** For people, beside the problems; undefined where nothing was left alone. */
  get leftMessage(): string | undefined {
    if (this.left.length === 0) return undefined
    const others = this.left.length - maxNamed
    // In a fixed order: the order in which the server has answered would lead to writes that say the same.
    const names = [...this.left.toSorted().slice(0, maxNamed), ...(others > 0 ? [`${others} more`] : [])].join(', ')
    return `Left alone, as the operator has not created them: ${names}`
  }
}
