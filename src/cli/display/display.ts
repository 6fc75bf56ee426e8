/**
 * Shows the progress of a run on a terminal, in addition to the logs: the watched resources, a progress bar while many objects are processed,
 * and a summary. Polls the progress model ten times a second, instead of redrawing per object. Created by `kopf run` and `kopf dev`.
 */

import type { RunOptions } from '../../operator.ts'
import { callAfter, monotonicMs } from '../../util/async/clock.ts'
import { packageVersion } from '../../util/process/package-files.ts'
import { describePlace } from '../cluster-place.ts'
import { describeScope } from '../options/namespaces.ts'
import { createStatusLine, printable, printNote, terminalAbilities } from '../terminal.ts'
import { createPalette, type Palette } from './colours.ts'
import { ProgressModel } from './progress-model.ts'
import {
  drawBar,
  drawInterruption,
  drawListing,
  drawSummary,
  drawTable,
  drawTitle,
  type RenderStyle,
  type RenderTitle,
} from './render.ts'
import type { StatusLine } from './status-line.ts'

export interface DisplayOptions {
  readonly line: StatusLine
  readonly palette: Palette
  /** Prints a line above the status line. */
  readonly print: (text: string) => void
  /** Creates the title when the address of the server is known. Without it, only long-running work is shown. */
  readonly title?: (server: string | undefined) => RenderTitle
}

/** The polling interval while something is shown. */
const refreshMs = 100
/** The polling interval while nothing is shown. */
const idleRefreshMs = 1000
/** Shorter work, or work on fewer objects, gets no progress bar. */
const minDurationMs = 1000
const minObjects = 30
/** After this time without a new list, the title is printed although some resources are not listed. */
const listTimeoutMs = 10_000
/** If nearly all objects are processed and the last ones make no progress for this time, the summary is printed. */
const stalledMs = 60_000
const nearlyDoneShare = 0.9

export class Display {
  readonly progress: ProgressModel = new ProgressModel(monotonicMs)
  readonly #options: DisplayOptions
  #isListed = false
  #isTitlePrinted = false
  /** The summary of the objects at the start is printed even if there were only a few. */
  #isFirst: boolean
  #isHidden = false
  #wasInterrupted = false

  constructor(options: DisplayOptions) {
    this.#options = options
    this.#isFirst = options.title !== undefined
    this.#tick()
  }

  /** All existing objects are listed. */
  listed(): void {
    this.#isListed = true
    if (!this.#isHidden) this.#update()
  }

  /** Hides the status line while the terminal shows something else. */
  hold(isHeld: boolean): void {
    this.#options.line.hold(isHeld)
  }

  /** Removes the status line when the operator begins to stop. */
  hide(): void {
    if (this.#isHidden) return
    this.#isHidden = true
    this.#wasInterrupted = this.#options.line.isShown
    this.#options.line.clear()
  }

  /** Prints how many objects were processed, if a progress bar was shown until the stop. */
  end(): void {
    this.hide()
    const { burst, isIdle } = this.progress
    if (this.#wasInterrupted && !isIdle) this.#options.print(drawInterruption(burst, this.#options.palette))
    this.#wasInterrupted = false
  }

  get #style(): RenderStyle {
    return this.#styleFor(this.#options.line.columns)
  }

  #styleFor(columns: number): RenderStyle {
    return { columns, palette: this.#options.palette }
  }

  #tick(): void {
    if (this.#isHidden) return
    this.#update()
    callAfter(this.#isTitlePrinted && this.progress.isIdle ? idleRefreshMs : refreshMs, () => this.#tick())
  }

  #update(): void {
    const { line } = this.#options
    const { burst, isIdle, ageMs, watched } = this.progress
    const isUnanswered = watched.length > 0 && this.progress.quietMs > listTimeoutMs
    if (!this.#isTitlePrinted && (this.#isListed || isUnanswered)) this.#printTitle()
    const isStuck = burst.sinceLastMs > stalledMs && burst.settled >= burst.found * nearlyDoneShare
    if (!this.#isTitlePrinted) {
      if (ageMs > minDurationMs && watched.length > 0)
        line.show((columns) => drawListing(this.progress, this.#styleFor(columns)))
    } else if (isIdle || isStuck) this.#printSummary()
    else if (burst.tookMs > minDurationMs && burst.found >= minObjects)
      line.show((columns) => drawBar(this.progress.burst, this.#styleFor(columns)))
    else line.clear()
  }

  #printTitle(): void {
    const { line, print, title } = this.#options
    this.#isTitlePrinted = true
    line.clear()
    if (title === undefined) return
    const lines = [
      ...drawTitle(title(this.progress.server), this.#style),
      ...drawTable(this.progress.watched, this.#style),
    ]
    print(lines.join('\n'))
  }

  #printSummary(): void {
    const { line, print } = this.#options
    const { burst } = this.progress
    if (burst.found === 0) return
    const wasShown = line.isShown
    line.clear()
    if (wasShown || this.#isFirst) print(drawSummary(burst, this.#options.palette))
    this.#isFirst = false
    this.progress.startBurst()
  }
}

/** The facts about the run for the title. */
export interface RunTitle extends Pick<RunOptions, 'namespaces'> {
  readonly name: string
  readonly embedded?: boolean
  readonly context?: string
}

/** A display with a title, the watched resources, and a summary of the objects at the start. */
export function showRun(run: RunTitle): Display {
  return new Display({ ...terminalTools(), title: (server) => toTitle(run, server) })
}

/** Creates displays that show only long-running work, for consecutive runs. */
export function createDelayDisplays(): () => Display {
  const shared = terminalTools()
  return () => new Display(shared)
}

function terminalTools() {
  return { line: createStatusLine(), palette: createPalette(terminalAbilities().hasColours), print: printNote }
}

function toTitle({ name, embedded, context, namespaces }: RunTitle, server: string | undefined): RenderTitle {
  const address = server === undefined ? 'its cluster' : describePlace({ server, context })
  const place = embedded ? 'the embedded server' : address
  const scope = describeScope(namespaces)
  return { version: packageVersion(), name: printable(name), place, scope }
}
