/**
 * Which files are pages of the site, and at which address: all of docs/, and what lies outside of it but belongs to it, such as
 * the examples. Links are written for whoever reads the files where they are; this is the map from there to the site.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root: string = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

/** Made of the declarations when the site is built; git does not have it. */
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

/** The page of a file, both as paths with `.md`; undefined for a file that is none. */
export function pageOf(file: string): string | undefined {
  if (file === 'README.md') return 'index.md'
  if (file in outside) return outside[file]
  const example = /^((?:examples|cookbook)\/[^/]+)\/README\.md$/.exec(file)?.[1]
  if (example !== undefined) return `${example}.md`
  if (!file.startsWith('docs/') || !file.endsWith('.md')) return undefined
  return file.slice('docs/'.length).replace(/(^|\/)README\.md$/, '$1index.md')
}

/** Every file that is a page, from the root of the repository; without the generated ones. */
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

/** As GitHub makes anchors of headings, so that one link leads there on both. */
export function toAnchor(title: string): string {
  return title
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

/**
 * The address on the site of what a link in a file means, with its anchor. Folders mean their README, and a file of an example,
 * or of all of them, means its place on that page. Undefined where the site has nothing of it.
 */
export function resolveLink(file: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#')
  if (path === '') return link
  const target = posix.join(posix.dirname(file), decodeURI(path)).replace(/\/$/, '')
  const page = pageOf(target) ?? pageOf(`${target}/README.md`)
  if (page !== undefined) return `/${page}${anchor === undefined ? '' : `#${anchor}`}`
  const [, folder, example = 'index', name] = /^(examples|cookbook)\/(?:([^/]+)\/)?(.+)$/.exec(target) ?? []
  return name === undefined ? undefined : `/${folder}/${example}.md#${toAnchor(name)}`
}
