/** The pages of the walk-through as somebody reads them who does what they say: one step after the other. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join('docs', 'tutorial')
/** With a folder for each page that has code: `2-creation` for creation.md. */
const steps = join('examples', 'tutorial')

/** In the order of reading. */
export const pageNames: readonly string[] = [
  'index',
  'problem',
  'setup',
  'resources',
  'starting',
  'creation',
  'updates',
  'diffs',
  'deletion',
  'cleanup',
  'next',
]

export type Step =
  /** A whole file. */
  | { readonly type: 'save'; readonly file: string; readonly text: string }
  | { readonly type: 'change'; readonly file: string; readonly from: string; readonly to: string }
  | { readonly type: 'run'; readonly command: string }
  | { readonly type: 'quit' }
  /** What is to be read in the first terminal then. */
  | { readonly type: 'see'; readonly lines: readonly string[] }
  /** A command in the second terminal, and its answer. */
  | { readonly type: 'ask'; readonly command: string; readonly answer: readonly string[] }

export interface Page {
  readonly name: string
  readonly text: string
  /** The files of the step of this name, as they are at its end; none where the page has no code. */
  readonly files: Readonly<Record<string, string>>
  readonly blocks: readonly Block[]
}

export interface Block {
  readonly language: string
  readonly text: string
  /** The prose before it. */
  readonly before: string
}

export function readPage(name: string): Page {
  const text = readFileSync(join(folder, `${name}.md`), 'utf8')
  const matches = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)]
  const blocks = matches.map(({ 1: language, 2: content, index }, at) => {
    const previous = matches[at - 1]
    const start = previous === undefined ? 0 : previous.index + previous[0].length
    return { language: language!, text: content!, before: text.slice(start, index) }
  })
  return { name, text, files: filesOf(name), blocks }
}

function filesOf(name: string): Record<string, string> {
  const step = readdirSync(steps).find((one) => one.endsWith(`-${name}`))
  if (step === undefined) return {}
  const path = join(steps, step)
  return Object.fromEntries(readdirSync(path).map((file) => [file, readFileSync(join(path, file), 'utf8')]))
}

/** The file that a block of code is a part of. */
export function fileOf({ files }: Page, { text }: Block): string | undefined {
  return Object.keys(files).find((file) => `\n${files[file]}`.includes(`\n${text}`))
}

export function stepsOf(page: Page): Step[] {
  const steps: Step[] = []
  for (const [at, block] of page.blocks.entries()) {
    steps.push(...told(block.before), ...shown(page, block, page.blocks.slice(at + 1)))
  }
  const last = page.text.lastIndexOf('```')
  return [...steps, ...told(page.text.slice(last + 1))]
}

/** What prose says to do. */
function told(prose: string): Step[] {
  const pattern = /In `(?<file>\S+)`, change `(?<from>[^`]+)` to `(?<to>[^`]+)`|Press `q`/g
  return [...prose.matchAll(pattern)].map(({ groups }) => {
    const { file, from, to } = groups!
    return file === undefined ? { type: 'quit' } : { type: 'change', file, from: from!, to: to! }
  })
}

function shown(page: Page, block: Block, later: readonly Block[]): Step[] {
  const lines = block.text.trimEnd().split('\n')
  switch (block.language) {
    case 'ts': {
      const file = fileOf(page, block)!
      // It is saved when all of it was read.
      const isLast = !later.some((one) => one.language === 'ts' && fileOf(page, one) === file)
      return isLast ? [{ type: 'save', file, text: page.files[file]! }] : []
    }
    case 'yaml':
      return [{ type: 'save', file: 'evc.yaml', text: block.text }]
    case 'json':
      return [{ type: 'save', file: 'tsconfig.json', text: block.text }]
    case 'shell':
      return lines.map((command) => ({ type: 'run', command }))
    case 'console':
      return block.text
        .trimEnd()
        .split(/^\$ /m)
        .slice(1)
        .map((text) => {
          const [command, ...answer] = text.trimEnd().split('\n')
          return { type: 'ask', command: command!, answer }
        })
    default:
      return [{ type: 'see', lines }]
  }
}
