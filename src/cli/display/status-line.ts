/**
 * One line at the bottom of the terminal that is redrawn in place. While it is shown, it intercepts both output streams of the process, so that all
 * other output appears above it. The cursor is never hidden, so that only the line must be cleared when the process ends.
 */

/** The part of an output stream that the status line uses. */
export interface TerminalStream {
  readonly isTTY?: boolean
  /** The current columns and rows. */
  getWindowSize(): [number, number]
  write(chunk: string | Uint8Array, ...rest: never[]): boolean
}

/** Renders a text that is at most as wide as the columns. */
export type Draw = (columns: number) => string

export class StatusLine {
  readonly #main: TerminalStream
  readonly #others: readonly TerminalStream[]
  /** Functions that restore the streams; empty while the line is not shown. */
  #restore: Array<() => void> = []
  #writeMain: (text: string) => void = () => {}
  #draw: Draw = () => ''
  #text = ''
  /** The width of the line when it was last drawn, without escape sequences. */
  #drawnWidth = 0
  /** Other output has not ended its line yet: the status line is not drawn until it has. */
  #isSuspended = false
  #isHeld = false

  /** The line is drawn on the main stream; the other streams write to the same terminal. */
  constructor(main: TerminalStream, ...others: readonly TerminalStream[]) {
    this.#main = main
    this.#others = others.filter(({ isTTY }) => isTTY)
  }

  /** The current number of columns. Read each time, since the resize event arrives late if the process is busy. */
  get columns(): number {
    return this.#main.getWindowSize()[0] || 80
  }

  get isShown(): boolean {
    return this.#restore.length > 0
  }

  /** Shows the line, and redraws it whenever other output is written. */
  show(draw: Draw): void {
    if (this.#isHeld) return
    if (!this.isShown) this.#start()
    this.#draw = draw
    if (this.#isSuspended || draw(this.columns) === this.#text) return
    const eraseSequence = this.#eraseSequence()
    this.#writeMain(`${eraseSequence}${this.#render()}`)
  }

  /** Hides the line while the terminal shows something else. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld
    if (isHeld) this.clear()
  }

  clear(): void {
    if (!this.isShown) return
    this.#writeMain(this.#eraseSequence())
    for (const restore of this.#restore) restore()
    this.#restore = []
    this.#text = ''
    this.#isSuspended = false
  }

  #start(): void {
    this.#writeMain = this.#main.write.bind(this.#main) as (text: string) => void
    this.#restore = [this.#main, ...this.#others].map((stream) => this.#intercept(stream))
  }

  /** Erases, writes and redraws in a single write if possible, so that the line does not flicker. */
  #intercept(stream: TerminalStream): () => void {
    const own = Object.getOwnPropertyDescriptor(stream, 'write')
    const write = stream.write.bind(stream)
    stream.write = (chunk, ...rest) => {
      const eraseSequence = this.#eraseSequence()
      if (chunk.length > 0) this.#isSuspended = !endsLine(chunk)
      const rendered = this.#isSuspended ? '' : this.#render()
      if (typeof chunk === 'string') return write(`${eraseSequence}${chunk}${rendered}`, ...rest)
      write(eraseSequence)
      const isFlowing = write(chunk, ...rest)
      write(rendered)
      return isFlowing
    }
    return () => {
      if (own) Object.defineProperty(stream, 'write', own)
      else delete (stream as Partial<TerminalStream>).write
    }
  }

  /** If the terminal has become narrower, the line is wrapped into several rows, and the cursor is in the last one. */
  #eraseSequence(): string {
    const above = Math.max(0, Math.ceil(this.#drawnWidth / this.columns) - 1)
    const isDrawn = this.#drawnWidth > 0
    this.#drawnWidth = 0
    return isDrawn ? `\r${above > 0 ? `\u001b[${above}A` : ''}\u001b[J` : ''
  }

  #render(): string {
    this.#text = this.#draw(this.columns)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: removes escape sequences of colours
    this.#drawnWidth = this.#text.replace(/\u001b\[[\d;]*m/g, '').length
    return this.#text
  }
}

function endsLine(chunk: string | Uint8Array): boolean {
  return typeof chunk === 'string' ? chunk.endsWith('\n') : chunk.at(-1) === 10
}
