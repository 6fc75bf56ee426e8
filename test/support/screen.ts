/** A minimal terminal emulator for tests: shows the screen after all writes. Throws for escape sequences it does not support. */

interface Row {
  cells: string[]
  /** Whether the line is wrapped and continues in the next row. */
  isWrapped: boolean
}

export class Screen {
  #columns: number
  /** All rows, including those that have scrolled off the screen. */
  #rows: Row[] = [{ cells: [], isWrapped: false }]
  #row = 0
  #column = 0
  /** The styles that are set and not reset. */
  readonly #styles = new Set<string>()
  #incomplete = ''

  constructor(columns: number) {
    this.#columns = columns
  }

  write(text: string): void {
    const pending = `${this.#incomplete}${text}`
    const last = pending.lastIndexOf('\u001b')
    const isComplete = last === -1 || /^.\[[\d;?]*[A-Za-z]/s.test(pending.slice(last))
    this.#incomplete = isComplete ? '' : pending.slice(last)
    const complete = isComplete ? pending : pending.slice(0, last)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: matches terminal escape sequences
    for (const [sequence] of complete.matchAll(/\u001b\[[\d;?]*[A-Za-z]|./gsu)) this.#handle(sequence)
  }

  /** Wraps long lines again and keeps the cursor at its text, like most terminals. */
  resize(columns: number): void {
    const rows: Row[] = []
    let cursor = { row: 0, column: 0 }
    for (const { cells, at } of this.#lines()) {
      if (at !== undefined) cursor = { row: rows.length + Math.floor(at / columns), column: at % columns }
      const parts = Math.max(1, Math.ceil(cells.length / columns), at === undefined ? 1 : Math.floor(at / columns) + 1)
      for (let part = 0; part < parts; part += 1) {
        rows.push({ cells: cells.slice(part * columns, (part + 1) * columns), isWrapped: part < parts - 1 })
      }
    }
    this.#rows = rows
    this.#row = cursor.row
    this.#column = cursor.column
    this.#columns = columns
  }

  /** Unwrapped lines, without empty lines at the end. */
  get lines(): string[] {
    const lines = this.#lines().map(({ cells }) => cells.join('').trimEnd())
    while (lines.at(-1) === '') lines.pop()
    return lines
  }

  /** Whether all styles are reset. */
  get isPlain(): boolean {
    return this.#styles.size === 0
  }

  get column(): number {
    return this.#column
  }

  #handle(sequence: string): void {
    if (sequence === '\r') this.#column = 0
    else if (sequence === '\n') this.#lineFeed(false)
    else if (!sequence.startsWith('\u001b')) this.#put(sequence)
    else this.#control(sequence.slice(2, -1), sequence.at(-1)!)
  }

  #control(argument: string, name: string): void {
    if (name === 'm') this.#style(Number(argument))
    else if (name === 'A') this.#row = Math.max(0, this.#row - Number(argument || 1))
    else if (name === 'J' && argument === '') this.#eraseBelow()
    else throw new Error(`Unsupported escape sequence: ESC [ ${argument} ${name}`)
  }

  #style(code: number): void {
    if (code === 22) for (const style of ['1', '2']) this.#styles.delete(style)
    else if (code === 39) this.#styles.delete('colour')
    else this.#styles.add(code >= 30 ? 'colour' : String(code))
  }

  #eraseBelow(): void {
    this.#rows.length = this.#row + 1
    const row = this.#rows[this.#row]!
    row.cells.length = Math.min(row.cells.length, this.#column)
    row.isWrapped = false
  }

  /** A character after the last column goes to the next row. */
  #put(character: string): void {
    if (this.#column === this.#columns) {
      this.#lineFeed(true)
      this.#column = 0
    }
    const { cells } = this.#rows[this.#row]!
    while (cells.length < this.#column) cells.push(' ')
    cells[this.#column] = character
    this.#column += 1
  }

  #lineFeed(isWrapped: boolean): void {
    this.#rows[this.#row]!.isWrapped = isWrapped
    this.#row += 1
    if (this.#row === this.#rows.length) this.#rows.push({ cells: [], isWrapped: false })
  }

  /** `at` is the position of the cursor if it is in this line. */
  #lines(): Array<{ readonly cells: string[]; readonly at: number | undefined }> {
    const lines: Array<{ cells: string[]; at: number | undefined }> = []
    let isOpen = false
    for (const [number, { cells, isWrapped }] of this.#rows.entries()) {
      if (!isOpen) lines.push({ cells: [], at: undefined })
      const line = lines.at(-1)!
      if (number === this.#row) line.at = line.cells.length + this.#column
      line.cells.push(...cells)
      isOpen = isWrapped
    }
    return lines
  }
}
