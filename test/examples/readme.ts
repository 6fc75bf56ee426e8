/**
 * The testable parts of the README of an example: the commands in ```shell blocks, and under "Expected output" the blocks
 * without a language: log lines of the operator, `^C` for its stop, and `$ commands` with their output.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Command {
  readonly command: string
  readonly answer: readonly string[]
}

export type Block =
  | { readonly type: 'log'; readonly lines: readonly string[] }
  | { readonly type: 'stop'; readonly lines: readonly string[] }
  | { readonly type: 'commands'; readonly commands: readonly Command[] }

export interface Readme {
  readonly shell: readonly string[]
  readonly seen: readonly Block[]
}

export function readReadme(folder: string, words: Readonly<Record<string, string>> = {}): Readme {
  const original = readFileSync(join('examples', folder, 'README.md'), 'utf8')
  const text = Object.entries(words).reduce((text, [old, now]) => text.replaceAll(old, now), original)
  const [, seen] = text.split('## Expected output\n')
  if (seen === undefined) throw new Error(`The README of ${folder} has no section "Expected output"`)
  return {
    shell: fencesIn(text, 'shell').flat(),
    seen: fencesIn(seen, '').map(toBlock),
  }
}

function fencesIn(text: string, language: string): string[][] {
  const fences = text.matchAll(/^```(\w*)\n([\s\S]*?)\n?^```$/gm)
  return [...fences].filter(([, one]) => one === language).map(([, , content]) => content!.split('\n'))
}

function toBlock(lines: string[]): Block {
  if (lines[0] === '^C') return { type: 'stop', lines: lines.slice(1) }
  if (!lines[0]?.startsWith('$ ')) return { type: 'log', lines }
  const commands: Array<{ command: string; answer: string[] }> = []
  for (const line of lines) {
    if (line.startsWith('$ ')) commands.push({ command: line.slice(2), answer: [] })
    else commands.at(-1)!.answer.push(line)
  }
  return { type: 'commands', commands }
}
