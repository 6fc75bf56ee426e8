/**
 * `kopf top` at a terminal: reads the views of the dashboard every second, draws them, and reacts to keys at once. Used by `kopf top`, and by `kopf dev`
 * for its key `t`. A failure to read is shown, and the next second tries again.
 */
import { type Clock, trySleep } from '../../util/async/clock.ts'
import type { Palette } from '../display/colours.ts'
import type { FullScreen } from '../display/full-screen.ts'
import { describeFailure } from '../exit.ts'
import { renderTop, type TopPicture } from './top-render.ts'
import { type ReadView, readSnapshot, type TopSnapshot, toObjectsQuery } from './top-snapshot.ts'
import { pressTopKey, type TopView } from './top-view.ts'

export interface TopScreenOptions {
  readonly read: ReadView
  readonly view: TopView
  /** Opens the screen; it is closed when the user quits. */
  readonly openScreen: (onResize: () => void) => Pick<FullScreen, 'columns' | 'rows' | 'draw' | 'leave'>
  readonly palette: Palette
  readonly clock: Clock
}

/** The time between two readings. The dashboard sends at most four updates a second to a browser. */
const intervalMs = 1000

export class TopScreen {
  readonly #options: TopScreenOptions
  readonly #screen: Pick<FullScreen, 'columns' | 'rows' | 'draw' | 'leave'>
  readonly #ending = new AbortController()
  #view: TopView
  #snapshot: TopSnapshot | undefined
  #problem: string | undefined
  #sizes: TopPicture['sizes'] | undefined
  /** Ends the pause between two readings. */
  #waiting = new AbortController()

  constructor(options: TopScreenOptions) {
    this.#options = options
    this.#view = options.view
    this.#screen = options.openScreen(() => this.#draw())
  }

  /** Shows the operator until the user quits, or until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const quit = () => this.quit()
    signal.addEventListener('abort', quit, { once: true })
    try {
      if (signal.aborted) return
      this.#draw()
      while (!this.#ending.signal.aborted) {
        if (!this.#view.isPaused) await this.#read()
        this.#draw()
        await trySleep(this.#options.clock, intervalMs, this.#waiting.signal)
        this.#waiting = new AbortController()
      }
    } finally {
      signal.removeEventListener('abort', quit)
      this.#screen.leave()
    }
  }

  /** Whether the screen is shown: key presses are for it. */
  get isOpen(): boolean {
    return !this.#ending.signal.aborted
  }

  quit(): void {
    this.#ending.abort()
    this.#waiting.abort()
    // At once: a reading may take longer.
    this.#screen.leave()
  }

  press(key: string): void {
    if (this.#sizes === undefined) this.#draw()
    const before = this.#view
    const after = pressTopKey(before, key, this.#sizes!)
    if (after === undefined) {
      this.quit()
      return
    }
    this.#view = after
    this.#draw()
    const isOther = JSON.stringify(toObjectsQuery(before)) !== JSON.stringify(toObjectsQuery(after))
    if (isOther || before.isPaused !== after.isPaused) this.#waiting.abort()
  }

  async #read(): Promise<void> {
    try {
      this.#snapshot = await readSnapshot(this.#options.read, this.#view, this.#ending.signal)
      this.#problem = undefined
    } catch (error) {
      if (!this.#ending.signal.aborted) this.#problem = describeFailure(error)
    }
  }

  #draw(): void {
    const { palette, clock } = this.#options
    const { columns, rows } = this.#screen
    const frame = { columns, rows, palette, nowMs: clock.now(), hasKeys: true, problem: this.#problem }
    const { lines, sizes } = renderTop(this.#snapshot, this.#view, frame)
    this.#sizes = sizes
    this.#screen.draw(lines)
  }
}
