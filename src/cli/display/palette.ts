/** Colours for terminals, and which parts of a log line have one. The text stays what it is. Pure. */
import type { LogLevel } from '../../util/log.ts'

type Paint = (text: string) => string

export interface Palette {
  readonly bold: Paint
  readonly dim: Paint
  readonly green: Paint
  readonly yellow: Paint
  readonly red: Paint
}

const plain: Paint = (text) => text

/** Without colours, everything stays as it is. */
export function createPalette(isColoured: boolean): Palette {
  const style =
    (on: number, off: number): Paint =>
    (text) =>
      text === '' ? text : `\u001b[${on}m${text}\u001b[${off}m`
  if (!isColoured) return { bold: plain, dim: plain, green: plain, yellow: plain, red: plain }
  return { bold: style(1, 22), dim: style(2, 22), green: style(32, 39), yellow: style(33, 39), red: style(31, 39) }
}

/** The time and the name of the logger, as the full format begins its lines. */
const beginning = /^\[[\d :,-]+\] \S+ *(?=\[[A-Z]+ *\] )/

/** A line with its end: what it begins with is pale, warnings and errors stand out, stacks below them do not. */
export function paintLine(palette: Palette, line: string, level: LogLevel): string {
  const paint = { debug: palette.dim, info: plain, warn: palette.yellow, error: palette.red, fatal: palette.red }[level]
  const [first, ...rest] = line.split('\n')
  const begins = beginning.exec(first!)?.[0] ?? ''
  const painted = `${palette.dim(begins)}${paint(first!.slice(begins.length))}`
  return [painted, ...rest.map(palette.dim)].join('\n')
}
