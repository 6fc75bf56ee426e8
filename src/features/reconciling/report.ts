/** What came of looking after the children of an object: what was done, what is waited for, what went wrong. */
import { TemporaryError } from '../../errors.ts'

type ProblemReason = 'ChildRefused' | 'KindMissing' | 'ChildContested'

/** Something that people should know of, as long as it is so. */
export interface Problem {
  readonly reason: ProblemReason
  readonly message: string
}

export class Report {
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
}
