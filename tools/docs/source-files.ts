/** The files of `src` by folder, each with the first sentence of its header comment, as Markdown tables. */
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { toTable } from './markdown.ts'

const root = new URL('../../src/', import.meta.url)

/** Generated files and tests are not listed. */
const isDescribed = (path: string) => /\.tsx?$/.test(path) && !/\.(test|generated)\.ts$/.test(path)

/** The tables of the framework and those of the embedded server. */
export function describeSourceFiles(): Readonly<Record<string, string>> {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter(isDescribed)
    .sort(compareByFolder)
  const isServer = (path: string) => path.startsWith('server/')
  return {
    framework: toFolderTables(paths.filter((path) => !isServer(path))),
    server: toFolderTables(paths.filter(isServer)),
  }
}

/** Files of `src` without a header comment, for the test of the docs. */
export function filesWithoutHeader(): string[] {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(isDescribed)
  return paths.filter((path) => readHeader(path) === undefined).sort()
}

/** The files of a folder come before those of its subfolders. */
function compareByFolder(a: string, b: string): number {
  const [x, y] = [posix.dirname(a), posix.dirname(b)]
  return x === y ? compare(a, b) : compare(x === '.' ? '' : `${x}/`, y === '.' ? '' : `${y}/`)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function toFolderTables(paths: readonly string[]): string {
  const folders = new Map<string, string[]>()
  for (const path of paths) {
    const folder = posix.dirname(path)
    folders.set(folder, [...(folders.get(folder) ?? []), path])
  }
  const tables = [...folders].map(([folder, files]) => {
    const rows = files.map((path) => [`\`${posix.basename(path)}\``, toFirstSentence(readHeader(path) ?? '')])
    return `### src${folder === '.' ? '' : `/${folder}`}\n\n${toTable(['file', 'what it does'], rows)}`
  })
  return tables.join('\n\n')
}

/** The text of the comment at the beginning of the file; undefined if the file begins with code. */
function readHeader(path: string): string | undefined {
  const text = readFileSync(new URL(path, root), 'utf8')
  const comment = /^(?:#!.*\n)?\/\*\*(.*?)\*\//s.exec(text)?.[1]
  return comment
    ?.replaceAll(/^\s*\*? ?/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** Up to the first full stop before a capital letter, a code word or a file name; abbreviations such as "e.g." do not end a sentence. */
function toFirstSentence(header: string): string {
  const end = /(?<!\b(?:e\.g|i\.e|etc))[.?!](?= [A-Z`]| [\w-]+\.ts\b|$)/.exec(header)
  return (end === null ? header : header.slice(0, end.index)).replaceAll(/\s@\w+.*$/g, '')
}
