/** The terminal of commands that talk with people: what they print, what they ask, which keys are pressed. */
import { createInterface } from 'node:readline/promises'
import { KopfError } from '../errors.ts'
import { type Abilities, judgeTerminal } from './display/abilities.ts'
import { StatusLine } from './display/status-line.ts'
import { terminalVariables } from './environment.ts'

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Beside the result, for people: whoever reads the output in a script does not get it. */
export function remark(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** What erases the line of the cursor: the status line of another process of ours, which knows nothing of what is printed here. */
export function eraseLine(): string {
  return process.stdout.isTTY === true ? '\r\u001b[K' : ''
}

/** Whole lines, with their ends. */
export function writeLog(lines: string): void {
  process.stderr.write(lines)
}

/** Whether somebody is there to answer. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** Of the terminal where logs go, if they go to one. */
export function terminalAbilities(): Abilities {
  return judgeTerminal(process.stderr.isTTY === true, terminalVariables())
}

/** Whether a person reads what is printed. */
export function isPrintedToPerson(): boolean {
  return process.stdout.isTTY === true
}

/** At the bottom of that terminal; gone when the process ends, however it does. */
export function createStatusLine(): StatusLine {
  const line = new StatusLine(process.stderr, process.stdout)
  process.once('exit', () => line.clear())
  return line
}

/** Anything but yes is no. */
export async function confirm(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await answerTo(`${question} [y/N] `)) ?? '')
}

/** Who leaves instead of an answer, leaves the command. */
export async function ask(question: string): Promise<string> {
  const answer = await answerTo(question)
  if (answer === undefined) throw new KopfError('KOPF_STOPPED', 'Stopped, and nothing was done')
  return answer
}

/** Undefined for Ctrl-C or Ctrl-D in place of an answer. */
async function answerTo(question: string): Promise<string | undefined> {
  const dialogue = createInterface({ input: process.stdin, output: process.stderr })
  const ended = new AbortController()
  dialogue.once('close', () => ended.abort())
  try {
    return (await dialogue.question(question, { signal: ended.signal })).trim()
  } catch {
    process.stderr.write('\n')
    return undefined
  } finally {
    dialogue.close()
  }
}

/** Calls back with each key; Ctrl-C is one of them then. Does nothing where there is no terminal. */
export function readKeys(onKey: (key: string) => void): Disposable {
  const { stdin } = process
  if (!stdin.isTTY) return { [Symbol.dispose]() {} }
  const take = (keys: Buffer): void => {
    for (const key of keys.toString('utf8')) onKey(key)
  }
  stdin.setRawMode(true)
  stdin.on('data', take)
  return {
    [Symbol.dispose]() {
      stdin.off('data', take)
      stdin.setRawMode(false)
      stdin.pause()
    },
  }
}

/** What comes from a cluster may have anything in it, also what moves the cursor. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    character === '\n' ? '⏎' : `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`,
  )
}
