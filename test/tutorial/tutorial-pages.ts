/** Reads the tutorial pages as a sequence of steps. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join('docs', 'tutorial')
/** Has a folder for each page with code, e.g. `2-creation` for creation.md. */
const steps = join('examples', 'tutorial')

/** The pages in reading order. */
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
  'cluster',
]

/** Pages that the tests do not follow: they need a container registry and a cluster with nodes. */
export const unfollowedPages: readonly string[] = ['cluster']

export type Step =
  /** Save a whole file. */
  | { readonly type: 'save'; readonly file: string; readonly text: string }
  | { readonly type: 'change'; readonly file: string; readonly from: string; readonly to: string }
  | { readonly type: 'run'; readonly command: string }
  | { readonly type: 'quit' }
  /** Expect these lines in the first terminal. */
  | { readonly type: 'see'; readonly lines: readonly string[] }
  /** Run a command in the second terminal, and expect its output. */
  | { readonly type: 'ask'; readonly command: string; readonly answer: readonly string[] }

export interface Page {
  readonly name: string
  readonly text: string
  /** The files at the end of this page; empty for a page without code. */
  readonly files: Readonly<Record<string, string>>
  readonly blocks: readonly Block[]
}

export interface Block {
  readonly language: string
  readonly text: string
  /** The text before the block. */
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

/** The file that contains a block of code. */
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

/** The steps that the text asks for. */
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
      // A file is saved after its last block on the page.
      const isLast = !later.some((one) => one.language === 'ts' && fileOf(page, one) === file)
      return isLast ? [{ type: 'save', file, text: page.files[file]! }] : []
    }
    case 'yaml':
      return [{ type: 'save', file: fileOf(page, block) ?? 'evc.yaml', text: block.text }]
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
