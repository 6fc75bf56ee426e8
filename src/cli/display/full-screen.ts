/**
 * The whole terminal, on its alternate screen: what the terminal showed before comes back at the end. Only rows that have changed are written. The size is
 * read at each drawing, since the resize event arrives late if the process is busy.
 */
import { callAfter } from '../../util/async/clock.ts'

/** The part of an output stream that the screen uses. */
export interface ScreenStream {
  getWindowSize(): [number, number]
  write(text: string): unknown
  on(event: 'resize', listener: () => void): unknown
  off(event: 'resize', listener: () => void): unknown
}

/** Alternate screen; no cursor; no automatic line breaks, so that a row of an unexpected width cannot move the others. */
const enterSequence = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J'
const leaveSequence = '\u001b[?7h\u001b[?25h\u001b[?1049l'

/** All rows are written again after this time: another process may have written to the terminal. */
const repaintMs = 5000

export class FullScreen implements Disposable {
  readonly #stream: ScreenStream
  readonly #write: (text: string) => unknown
  readonly #onResize: () => void
  #rows: readonly string[] = []
  #isOpen = true

  constructor(stream: ScreenStream, onResize: () => void) {
    this.#stream = stream
    // The method of this moment: output of others may be held back later.
    this.#write = stream.write.bind(stream)
    this.#onResize = () => {
      this.#rows = []
      this.#write('\u001b[2J')
      onResize()
    }
    this.#write(enterSequence)
    stream.on('resize', this.#onResize)
    this.#repaint()
  }

  get columns(): number {
    return this.#stream.getWindowSize()[0] || 80
  }

  get rows(): number {
    return this.#stream.getWindowSize()[1] || 24
  }

  /** Shows these lines from the top. They must not be wider than the screen. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return
    const rows = Array.from({ length: this.rows }, (_, index) => lines[index] ?? '')
    const changed = rows.flatMap((row, index) =>
      row === this.#rows[index] ? [] : [`\u001b[${index + 1};1H\u001b[K${row}`],
    )
    this.#rows = rows
    if (changed.length > 0) this.#write(changed.join(''))
  }

  /** Shows what the terminal showed before. */
  leave(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#stream.off('resize', this.#onResize)
    this.#write(leaveSequence)
  }

  [Symbol.dispose](): void {
    this.leave()
  }

  #repaint(): void {
    callAfter(repaintMs, () => {
      if (!this.#isOpen) return
      this.#rows = []
      this.#repaint()
    })
  }
}
