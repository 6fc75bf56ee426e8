/**
 * What a person on a terminal sees of a run beside its logs: what is watched, a bar while much is worked off, and what came of it.
 * Looks at the account so many times a second, never for every object. Made by `run` and `dev`, only where there is a terminal.
 */
import { monotonicMs, ringAfter } from '../../util/clock.ts'
import { Account } from './account.ts'
import type { Palette } from './palette.ts'
import {
  drawBar,
  drawInterruption,
  drawListing,
  drawSummary,
  drawTable,
  drawTitle,
  type Look,
  type Title,
} from './pictures.ts'
import type { StatusLine } from './status-line.ts'

export interface DisplayOptions {
  readonly line: StatusLine
  readonly palette: Palette
  /** Writes a line above the one that is drawn over. */
  readonly print: (text: string) => void
  /** What comes first, made when the address of the server is known. Without it, only what takes long is told of. */
  readonly title?: (server: string | undefined) => Title
}

const lookMs = 100
/** There is nothing to draw: it is enough to notice when there is. */
const restMs = 1000
/** What takes less is over before anybody has read of it; so few are no matter for a bar. */
const patienceMs = 1000
const fewObjects = 30
/** Whoever has not answered for so long is not waited for. */
const quietMs = 10_000
/** The last ones may take for ever. */
const stillMs = 60_000
const mostOfThem = 0.9

export class Display {
  readonly account: Account = new Account(monotonicMs)
  readonly #options: DisplayOptions
  #isListed = false
  #isIntroduced = false
  /** What was there at the start is told of even if it was little. */
  #isFirst: boolean
  #isOver = false
  #isCutShort = false

  constructor(options: DisplayOptions) {
    this.#options = options
    this.#isFirst = options.title !== undefined
    this.#tick()
  }

  /** All that is there is known. */
  listed(): void {
    this.#isListed = true
    if (!this.#isOver) this.#update()
  }

  /** Nothing more is drawn: the operator is about to stop, and has its own words for it. */
  fold(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#isCutShort = this.#options.line.isShown
    this.#options.line.clear()
  }

  /** When all is over: how far it has come, if somebody has followed that. */
  end(): void {
    this.fold()
    const { burst, isIdle } = this.account
    if (this.#isCutShort && !isIdle) this.#options.print(drawInterruption(burst, this.#options.palette))
    this.#isCutShort = false
  }

  get #look(): Look {
    return this.#lookAt(this.#options.line.columns)
  }

  #lookAt(columns: number): Look {
    return { columns, palette: this.#options.palette }
  }

  #tick(): void {
    if (this.#isOver) return
    this.#update()
    ringAfter(this.#isIntroduced && this.account.isIdle ? restMs : lookMs, () => this.#tick())
  }

  #update(): void {
    const { line } = this.#options
    const { burst, isIdle, ageMs, watched } = this.account
    const isUnanswered = watched.length > 0 && this.account.quietMs > quietMs
    if (!this.#isIntroduced && (this.#isListed || isUnanswered)) this.#introduce()
    const isStuck = burst.stillMs > stillMs && burst.settled >= burst.found * mostOfThem
    if (!this.#isIntroduced) {
      if (ageMs > patienceMs && watched.length > 0)
        line.show((columns) => drawListing(this.account, this.#lookAt(columns)))
    } else if (isIdle || isStuck) this.#conclude()
    else if (burst.tookMs > patienceMs && burst.found >= fewObjects)
      line.show((columns) => drawBar(this.account.burst, this.#lookAt(columns)))
    else line.clear()
  }

  #introduce(): void {
    const { line, print, title } = this.#options
    this.#isIntroduced = true
    line.clear()
    if (title === undefined) return
    const lines = [...drawTitle(title(this.account.server), this.#look), ...drawTable(this.account.watched, this.#look)]
    print(lines.join('\n'))
  }

  #conclude(): void {
    const { line, print } = this.#options
    const { burst } = this.account
    if (burst.found === 0) return
    const wasShown = line.isShown
    line.clear()
    if (wasShown || this.#isFirst) print(drawSummary(burst, this.#options.palette))
    this.#isFirst = false
    this.account.closeBurst()
  }
}
