/** Parses and formats times in RFC 3339 as Go's `time` package does, with its error messages. */

const layout = '2006-01-02T15:04:05Z07:00'

/** Milliseconds since 1970. Throws a RangeError with Go's message. */
export function parseGoTime(text: string): number {
  return new TimeParser(text).parse()
}

/** Whole seconds in UTC, as metav1.Time is written. */
export function formatGoTime(time: number): string {
  return `${new Date(time).toISOString().slice(0, -5)}Z`
}

class TimeParser {
  readonly #text: string
  #position = 0

  constructor(text: string) {
    this.#text = text
  }

  parse(): number {
    const year = this.#number('2006', /^[0-9]{4}/)
    this.#literal('-')
    const month = this.#number('01', /^[0-9]{2}/)
    if (month < 1 || month > 12) throw this.#outOfRange('month')
    this.#literal('-')
    const day = this.#number('02', /^[0-9]{2}/)
    this.#literal('T')
    const seconds = this.#parseClock()
    const offset = this.#parseZone()
    if (this.#rest !== '') throw new RangeError(`parsing time ${quote(this.#text)}: extra text: ${quote(this.#rest)}`)
    // Go checks the day last, since its range depends on month and year.
    const date = new Date(0)
    date.setUTCFullYear(year, month - 1, day)
    if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) throw this.#outOfRange('day')
    return date.getTime() + (seconds - offset) * 1000
  }

  #parseClock(): number {
    const hour = this.#number('15', /^[0-9]{1,2}/)
    if (hour > 23) throw this.#outOfRange('hour')
    this.#literal(':')
    const minute = this.#number('04', /^[0-9]{2}/)
    if (minute > 59) throw this.#outOfRange('minute')
    this.#literal(':')
    const second = this.#number('05', /^[0-9]{2}/)
    if (second > 59) throw this.#outOfRange('second')
    // Go accepts fractions although the layout has none, also after a comma.
    this.#position += /^[.,][0-9]+/.exec(this.#rest)?.[0].length ?? 0
    return (hour * 60 + minute) * 60 + second
  }

  /** The offset from UTC in seconds. */
  #parseZone(): number {
    if (this.#rest.startsWith('Z')) {
      this.#position += 1
      return 0
    }
    // Go checks the ranges before the syntax, and the minutes first.
    const [, hours, minutes] = /^.([0-9]{2}):([0-9]{2})?/s.exec(this.#rest) ?? []
    if (Number(minutes) > 60) throw this.#outOfRange('time zone offset minute')
    if (Number(hours) > 24 && this.#rest.length >= 6) throw this.#outOfRange('time zone offset hour')
    if (minutes === undefined || !/^[+-]/.test(this.#rest)) throw this.#mismatch('Z07:00')
    const seconds = (Number(hours) * 60 + Number(minutes)) * 60
    const sign = this.#rest.startsWith('-') ? -1 : 1
    this.#position += 6
    return sign * seconds
  }

  get #rest(): string {
    return this.#text.slice(this.#position)
  }

  #number(element: string, pattern: RegExp): number {
    const digits = pattern.exec(this.#rest)?.[0]
    if (digits === undefined) throw this.#mismatch(element)
    this.#position += digits.length
    return Number(digits)
  }

  #literal(character: string): void {
    if (!this.#rest.startsWith(character)) throw this.#mismatch(character)
    this.#position += 1
  }

  #mismatch(element: string): RangeError {
    const what = `cannot parse ${quote(this.#rest)} as ${quote(element)}`
    return new RangeError(`parsing time ${quote(this.#text)} as ${quote(layout)}: ${what}`)
  }

  #outOfRange(what: string): RangeError {
    return new RangeError(`parsing time ${quote(this.#text)}: ${what} out of range`)
  }
}

/** The `time` package quotes in its own way: everything but printable ASCII as bytes. */
function quote(text: string): string {
  const escaped = text.replace(/[^ -~\u007f]|["\\]/gu, (character) => {
    if (character === '"' || character === '\\') return `\\${character}`
    const bytes = new TextEncoder().encode(character)
    return Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
  })
  return `"${escaped}"`
}
