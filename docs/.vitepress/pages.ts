/**
 * Maps files to pages of the site: all of docs/, and files outside of it such as the READMEs of the examples. Links in the files
 * work in the repository; `resolveLink()` translates them into links of the site.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = 'https://github.com/OWNER/kopf'

export const root: string = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

/** Generated from the declarations when the site is built; ignored by git. */
export const apiFolder = 'docs/reference/api'

const outside: Readonly<Record<string, string>> = {
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security-policy.md',
  'CHANGELOG.md': 'changes.md',
  'CODE_OF_CONDUCT.md': 'code-of-conduct.md',
  'cookbook/README.md': 'cookbook/index.md',
  'bench/README.md': 'benchmarks.md',
  'examples/README.md': 'examples/index.md',
}

/** The page of a file, both as paths with `.md`; undefined for a file that is not a page. */
export function pageOf(file: string): string | undefined {
  if (file === 'README.md') return 'index.md'
  if (file in outside) return outside[file]
  const example = /^((?:examples|cookbook)\/[^/]+)\/README\.md$/.exec(file)?.[1]
  if (example !== undefined) return `${example}.md`
  if (!file.startsWith('docs/') || !file.endsWith('.md')) return undefined
  return file.slice('docs/'.length).replace(/(^|\/)README\.md$/, '$1index.md')
}

/** All files that are pages, relative to the root of the repository; without the generated ones. */
export function listPages(): string[] {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((path) => posix.join('docs', path.replaceAll('\\', '/')))
    .filter((path) => path.endsWith('.md') && !path.includes('/node_modules/') && !path.startsWith(`${apiFolder}/`))
  const examples = listExamples().map((name) => `examples/${name}/README.md`)
  const cookbook = listExamples('cookbook').map((name) => `cookbook/${name}/README.md`)
  const others = Object.keys(outside).filter((file) => existsSync(join(root, file)))
  return [...others, ...examples, ...cookbook, ...docs].sort()
}

/** The folders of examples/ or of cookbook/, in the order of the overview in its README. Each folder has a README, which is a page. */
export function listExamples(folder: 'examples' | 'cookbook' = 'examples'): string[] {
  if (!existsSync(join(root, folder))) return []
  const entries = readdirSync(join(root, folder), { withFileTypes: true })
  const lines = readFileSync(join(root, folder, 'README.md'), 'utf8').split('\n')
  const rows = lines.filter((line) => line.startsWith('| ['))
  const positionOf = (name: string) => {
    const position = rows.findIndex((row) => row.includes(`](${name}`))
    return position === -1 ? rows.length : position
  }
  return entries
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    .map(({ name }) => name)
    .sort((a, b) => positionOf(a) - positionOf(b))
}

export function titleOf(file: string): string {
  const text = readFileSync(join(root, file), 'utf8')
  return /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? file
}

/** The anchor that GitHub gives a heading, so that the same link works in the repository and on the site. */
export function toAnchor(title: string): string {
  return title
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

/**
 * The address on the site for a link in a file, with its anchor. A link to a folder leads to the page of its README, a link to a
 * file of an example to the heading of that file on the example's page, and a link to another file to the repository. Undefined if there
 * is no such file.
 */
export function resolveLink(file: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#')
  if (path === '') return link
  const target = posix.join(posix.dirname(file), decodeURI(path)).replace(/\/$/, '')
  const page = pageOf(target) ?? pageOf(`${target}/README.md`)
  if (page !== undefined) return `/${page}${anchor === undefined ? '' : `#${anchor}`}`
  const [, folder, example = 'index', name] = /^(examples|cookbook)\/(?:([^/]+)\/)?(.+)$/.exec(target) ?? []
  if (name !== undefined) return `/${folder}/${example}.md#${toAnchor(name)}`
  const isInRepository = !target.startsWith('..') && !target.endsWith('.md') && existsSync(join(root, target))
  return isInRepository ? `${repository}/blob/main/${target}` : undefined
}
