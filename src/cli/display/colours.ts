/** Detects whether a terminal supports colours and redrawing, and colours log lines without changing their text. Pure. */
import type { LogLevel } from '../../util/log/log.ts'

type Paint = (text: string) => string

export interface Palette {
  readonly bold: Paint
  readonly dim: Paint
  readonly green: Paint
  readonly yellow: Paint
  readonly red: Paint
}

const plain: Paint = (text) => text

/** Without colours, the functions return the text unchanged. */
export function createPalette(isColoured: boolean): Palette {
  const style =
    (on: number, off: number): Paint =>
    (text) =>
      text === '' ? text : `\u001b[${on}m${text}\u001b[${off}m`
  if (!isColoured) return { bold: plain, dim: plain, green: plain, yellow: plain, red: plain }
  return { bold: style(1, 22), dim: style(2, 22), green: style(32, 39), yellow: style(33, 39), red: style(31, 39) }
}

/** The timestamp and the logger name at the start of a line in the full format. */
const fullPrefix = /^\[[\d :,-]+\] \S+ *(?=\[[A-Z]+ *\] )/
/** The time of day, the level, and the object, if the line is about one, in the short format. */
const shortPrefix = /^(\d\d:\d\d:\d\d )([A-Z]+ +)([a-z\d][a-z\d.:/-]*(?= {2}))?/

/** Colours a log line: dims its prefix and the stack below it, and highlights its object, warnings and errors. */
export function paintLine(palette: Palette, line: string, level: LogLevel): string {
  const paint = { debug: palette.dim, info: plain, warn: palette.yellow, error: palette.red, fatal: palette.red }[level]
  const [first, ...rest] = line.split('\n')
  const [prefix, time = '', label = '', object = ''] = shortPrefix.exec(first!) ?? [fullPrefix.exec(first!)?.[0] ?? '']
  const painted =
    time === ''
      ? palette.dim(prefix)
      : `${palette.dim(time)}${(level === 'info' ? palette.green : paint)(label)}${palette.bold(object)}`
  return [`${painted}${paint(first!.slice(prefix.length))}`, ...rest.map(palette.dim)].join('\n')
}

/** Conventional environment variables about terminals. */
export interface TerminalVariables {
  readonly NO_COLOR?: string | undefined
  readonly FORCE_COLOR?: string | undefined
  readonly TERM?: string | undefined
  readonly CI?: string | undefined
}

export interface TerminalAbilities {
  readonly isTerminal: boolean
  readonly hasColours: boolean
  /** Lines can be redrawn, and the terminal is not that of a CI job. */
  readonly canRedraw: boolean
}

const falsyValues: ReadonlySet<string | undefined> = new Set([undefined, '', '0', 'false'])

/** The abilities of the terminal that shows the logs; none without a terminal. `NO_COLOR` overrides `FORCE_COLOR`. */
export function detectAbilities(isTerminal: boolean, variables: TerminalVariables): TerminalAbilities {
  const { NO_COLOR, FORCE_COLOR, TERM, CI } = variables
  const isDumb = TERM === 'dumb'
  const hasChoice = FORCE_COLOR !== undefined && FORCE_COLOR !== ''
  const wantsColours = hasChoice ? !falsyValues.has(FORCE_COLOR) : !isDumb
  return {
    isTerminal,
    hasColours: isTerminal && !NO_COLOR && wantsColours,
    canRedraw: isTerminal && !isDumb && falsyValues.has(CI),
  }
}
