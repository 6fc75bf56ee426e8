/**
 * One line at the bottom of the terminal, drawn over itself; whatever else is written meanwhile, by whomever in this process, comes
 * above it. While it is there, both streams of the process go through here. The cursor is never hidden: nothing has to be put right
 * when the process ends, but the line itself.
 */

/** What this needs of the streams of a process. */
export interface TerminalStream {
  readonly isTTY?: boolean
  /** Columns and rows, as they are now. */
  getWindowSize(): [number, number]
  write(chunk: string | Uint8Array, ...rest: never[]): boolean
}

/** Makes a text that is no wider than that. */
export type Draw = (columns: number) => string

export class StatusLine {
  readonly #main: TerminalStream
  readonly #others: readonly TerminalStream[]
  /** How the streams are put back as they were; empty while the line is not there. */
  #restore: Array<() => void> = []
  #writeMain: (text: string) => void = () => {}
  #draw: Draw = () => ''
  #text = ''
  /** How wide it is as it was drawn last. Colours count for nothing. */
  #drawnWidth = 0
  /** Somebody has not finished a line: the line waits until that is done. */
  #isHeld = false

  /** It is drawn on the first; the others are those of the same terminal. */
  constructor(main: TerminalStream, ...others: readonly TerminalStream[]) {
    this.#main = main
    this.#others = others.filter(({ isTTY }) => isTTY)
  }

  /** How many columns there are: asked each time, since the news of another size comes when the process has time for it. */
  get columns(): number {
    return this.#main.getWindowSize()[0] || 80
  }

  get isShown(): boolean {
    return this.#restore.length > 0
  }

  /** It is drawn anew now, and whenever something was written above it. */
  show(draw: Draw): void {
    if (!this.isShown) this.#begin()
    this.#draw = draw
    if (this.#isHeld || draw(this.columns) === this.#text) return
    const erasure = this.#erasure()
    this.#writeMain(`${erasure}${this.#picture()}`)
  }

  clear(): void {
    if (!this.isShown) return
    this.#writeMain(this.#erasure())
    for (const restore of this.#restore) restore()
    this.#restore = []
    this.#text = ''
    this.#isHeld = false
  }

  #begin(): void {
    this.#writeMain = this.#main.write.bind(this.#main) as (text: string) => void
    this.#restore = [this.#main, ...this.#others].map((stream) => this.#divert(stream))
  }

  /** Everything in one write where that can be: nothing flickers, and nobody comes in between. */
  #divert(stream: TerminalStream): () => void {
    const own = Object.getOwnPropertyDescriptor(stream, 'write')
    const write = stream.write.bind(stream)
    stream.write = (chunk, ...rest) => {
      const erasure = this.#erasure()
      if (chunk.length > 0) this.#isHeld = !endsLine(chunk)
      const picture = this.#isHeld ? '' : this.#picture()
      if (typeof chunk === 'string') return write(`${erasure}${chunk}${picture}`, ...rest)
      write(erasure)
      const isFlowing = write(chunk, ...rest)
      write(picture)
      return isFlowing
    }
    return () => {
      if (own) Object.defineProperty(stream, 'write', own)
      else delete (stream as Partial<TerminalStream>).write
    }
  }

  /** Terminals that have become narrower have broken it into several lines; the cursor is in the last. */
  #erasure(): string {
    const above = Math.max(0, Math.ceil(this.#drawnWidth / this.columns) - 1)
    const isDrawn = this.#drawnWidth > 0
    this.#drawnWidth = 0
    return isDrawn ? `\r${above > 0 ? `\u001b[${above}A` : ''}\u001b[J` : ''
  }

  #picture(): string {
    this.#text = this.#draw(this.columns)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is left out
    this.#drawnWidth = this.#text.replace(/\u001b\[[\d;]*m/g, '').length
    return this.#text
  }
}

function endsLine(chunk: string | Uint8Array): boolean {
  return typeof chunk === 'string' ? chunk.endsWith('\n') : chunk.at(-1) === 10
}
