/** The terminal of a command: printing, questions, key presses, and the status line. */
import { createInterface } from 'node:readline/promises'
import { KopfError } from '../errors.ts'
import { createPalette, detectAbilities, type Palette, type TerminalAbilities } from './display/colours.ts'
import { FullScreen } from './display/full-screen.ts'
import { toKeys } from './display/key-names.ts'
import { interceptWrites, OutputHold } from './display/output-hold.ts'
import { StatusLine } from './display/status-line.ts'
import { terminalVariables } from './environment.ts'

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Prints a message for the user to stderr, so that it is not part of the output. */
export function printNote(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** The sequence that erases the current line: the status line of the operator process, which shares this terminal. */
export function eraseLine(): string {
  return process.stdout.isTTY === true ? '\r\u001b[K' : ''
}

/** Clears the screen and the lines that have scrolled off it. */
export function clearScreen(): void {
  process.stdout.write('\u001b[2J\u001b[3J\u001b[H')
}

/** Writes complete lines, including their line breaks. */
export function writeLog(lines: string): void {
  process.stderr.write(lines)
}

/** Whether a user can answer questions. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** The abilities of the terminal that shows the logs. */
export function terminalAbilities(): TerminalAbilities {
  return detectAbilities(process.stderr.isTTY === true, terminalVariables())
}

/** The abilities of the terminal that shows the output. */
export function outputAbilities(): TerminalAbilities {
  return detectAbilities(isPrintedToPerson(), terminalVariables())
}

/** Colours for the output; none if it does not go to a terminal. */
export function outputPalette(): Palette {
  return createPalette(outputAbilities().hasColours)
}

/** The width of the terminal of the output; without a terminal, that of a wide one. */
export function outputColumns(): number {
  return process.stdout.columns || 120
}

/** Whether the output goes to a terminal. */
export function isPrintedToPerson(): boolean {
  return process.stdout.isTTY === true
}

/** A status line on the terminal of the logs. It is cleared when the process exits. */
export function createStatusLine(): StatusLine {
  const line = new StatusLine(process.stderr, process.stdout)
  process.once('exit', () => line.clear())
  return line
}

/** The whole terminal of the output. It is left when the screen is disposed, when the process exits, and before an unexpected error is printed. */
export function openFullScreen(onResize: () => void): FullScreen {
  const screen = new FullScreen(process.stdout, onResize)
  const leave = () => screen.leave()
  process.once('exit', leave)
  process.once('uncaughtExceptionMonitor', leave)
  return screen
}

/** Holds all output of this process back, until the result is disposed. */
export function holdOutput(): Disposable {
  return new OutputHold(process.stdout, process.stderr)
}

/** Passes all output of this process to a function instead, until the result is disposed. */
export function redirectOutput(onText: (text: string) => void): Disposable {
  return interceptWrites([process.stdout, process.stderr], (chunk) => onText(chunk.toString()))
}

/** Asks for confirmation. Any answer other than yes means no. */
export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await readAnswer(`${question} [y/N] `)) ?? '')
}

/** Asks a question. Throws if the user presses Ctrl-C or Ctrl-D instead of answering. */
export async function prompt(question: string): Promise<string> {
  const answer = await readAnswer(question)
  if (answer === undefined) throw new KopfError('KOPF_STOPPED', 'Stopped: nothing was changed')
  return answer
}

/** Undefined if the user presses Ctrl-C or Ctrl-D instead of answering. */
async function readAnswer(question: string): Promise<string | undefined> {
  const readline = createInterface({ input: process.stdin, output: process.stderr })
  const ended = new AbortController()
  readline.once('close', () => ended.abort())
  try {
    return (await readline.question(question, { signal: ended.signal })).trim()
  } catch {
    process.stderr.write('\n')
    return undefined
  } finally {
    readline.close()
  }
}

/** Whether key presses can be read. */
export function hasKeys(): boolean {
  return process.stdin.isTTY === true
}

/**
 * Calls `onKey` for each key press with its character, or with the name of a key that has none (display/key-names.ts). Ctrl-C is a key press as well,
 * and sends no signal. Does nothing without a terminal.
 */
export function readKeys(onKey: (key: string) => void): Disposable {
  const { stdin } = process
  if (!hasKeys()) return { [Symbol.dispose]() {} }
  const onData = (keys: Buffer): void => {
    for (const key of toKeys(keys.toString('utf8'))) onKey(key)
  }
  stdin.setRawMode(true)
  stdin.on('data', onData)
  return {
    [Symbol.dispose]() {
      stdin.off('data', onData)
      stdin.setRawMode(false)
      stdin.pause()
    },
  }
}

/** An argument for a shell, in quotes if it needs them. */
export function quoteForShell(argument: string): string {
  return /^[\w./][\w./~-]*$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`
}

/**
 * Escapes control characters, characters of unknown width, and more than two combining marks in a row, which would be drawn over other lines: text from
 * a cluster may contain escape sequences for the terminal.
 */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\u2028\u2029]|(?<=[\p{Mn}\p{Me}]{2})[\p{Mn}\p{Me}]/gu,
    (character) => (character === '\n' ? '⏎' : `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`),
  )
}
