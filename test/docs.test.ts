/**
 * Every TypeScript block of the README and of docs/ is compiled, and run; what tables repeat of the code is compared with it.
 *
 * A block that imports something is a program as it stands. One that imports nothing is the middle of an operator: what it
 * uses of `kopf`, and the operator itself, is put before it. In decisions, such blocks are prose. One that begins with the
 * name of a file, such as `// heavy.ts`, is that file, for others to refer to. Those of the walk-through are parts of files in
 * examples/tutorial, which are compiled with the examples, and run by test/tutorial.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { WebhookNgrokTunnel, WebhookServer, WebhookServiceServer } from 'kopf/webhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { home } from '../docs/.vitepress/home.ts'
import { listPages, pageOf, toAnchor } from '../docs/.vitepress/pages.ts'
import { sections } from '../docs/.vitepress/sidebar.ts'
import { createProgram } from '../src/cli/program.ts'
import { parseYaml } from '../src/util/yaml.ts'
import { generated } from '../tools/docs/generate.ts'

const run = promisify(execFile)
const docs = listPages().filter((page) => page.startsWith('docs/'))
const pages = ['README.md', ...docs].sort()

/** The resource of the typed blocks: that of the guide. */
const database = `import { z } from 'zod'
const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({
    engine: z.enum(['postgres', 'mysql']),
    size: z.number().int().min(1).default(1),
    users: z.array(z.string()).default([]),
  }),
  status: z.object({ phase: z.string(), url: z.string() }),
})
`

const blocks = pages.flatMap((page) =>
  [...readFileSync(page, 'utf8').matchAll(/^```ts\n(.*?)^```/gms)].map((match, index) => ({
    page,
    name: `${page}, block ${index + 1}`,
    file: /^\/\/ (\S+\.ts)\n/.exec(match[1]!)?.[1] ?? `${page.replace(/\W+/g, '-')}-${index + 1}.ts`,
    code: match[1]!,
  })),
)
const programs = blocks
  .filter(({ page }) => !page.startsWith(join('docs', 'tutorial')))
  .filter(({ page, code }) => isWhole(code) || !page.startsWith(join('docs', 'decisions')))
  .map((block) => ({ ...block, code: isWhole(block.code) ? block.code : withBeginning(block.code) }))

function isWhole(code: string): boolean {
  return /^import /m.test(code)
}

function withBeginning(code: string): string {
  const uses = (name: string) => new RegExp(`\\b${name}\\b`).test(code.replaceAll(/'[^'\n]*'/g, ''))
  const needsDatabase = uses('Database')
  const names = exportedNames().filter(
    ({ name }) => uses(name) || name === 'Operator' || (needsDatabase && name === 'defineResource'),
  )
  const outside = uses('cloud') ? 'declare const cloud: Record<string, any>\n' : ''
  const imports = names.map(({ name, isType }) => (isType ? `type ${name}` : name)).join(', ')
  return `import { ${imports} } from 'kopf'\n${needsDatabase ? database : ''}${outside}const kopf = new Operator()\n${code}`
}

/** What the front door has, by its text: types are not there at run time. */
function exportedNames(): { name: string; isType: boolean }[] {
  const text = readFileSync(join('src', 'index.ts'), 'utf8')
  return [...text.matchAll(/export (type )?\{([^}]*)\}/g)].flatMap(([, isType, list]) =>
    list!
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '')
      .map((entry) => ({
        name: entry.replace(/^type /, ''),
        isType: isType !== undefined || entry.startsWith('type '),
      }))
      // `on`, `run` and `start` are those of the default operator: in a block with an operator of its own they are words.
      .filter(({ name }) => !['on', 'run', 'start'].includes(name)),
  )
}

/** Inside the project, so that `kopf` means this package; git does not look there. */
const folder = join('.docs', String(process.pid))

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  for (const { file, code } of programs) writeFileSync(join(folder, file), `${code}\nexport {}\n`)
  const compilerOptions = { isolatedDeclarations: false, declaration: false, rootDir: '../..' }
  const tsconfig = { extends: '../../tsconfig.json', compilerOptions, include: ['./*.ts'], exclude: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('there are programs in the docs', () => {
  expect(programs.length).toBeGreaterThan(30)
})

test('all of them compile', { timeout: 120_000 }, async () => {
  const compiled = run(join('node_modules', '.bin', 'tsc'), ['-p', folder]).catch((error: { stdout: string }) => error)
  expect((await compiled).stdout).toBe('')
})

describe('runs to its end', () => {
  const said: Record<string, string> = {}

  beforeAll(async () => {
    const runner = join('test', 'support', 'run-programs.ts')
    const loaders = ['--import', 'tsx', '--import', './test/support/tsx-in-threads.mjs', '--conditions=source']
    await run(process.execPath, [...loaders, runner, folder])
    Object.assign(said, JSON.parse(readFileSync(join(folder, 'said.json'), 'utf8')))
  }, 120_000)

  test.each(programs.map(({ name, file }) => [name, file]))('%s', (_, file) => {
    expect(said).toHaveProperty([file])
    // Operators that run in a block log as they go; whatever else is said there is trouble.
    const lines = said[file]!.split('\n').filter((line) => line !== '' && !/^\[[^\]]+\] \S+ +\[INFO {4}\]/.test(line))
    expect(lines).toEqual([])
  })
})

/** Of the pages, and of the examples: what stands in blocks of a language. */
function blocksIn(language: string): { page: string; code: string }[] {
  return ['README.md', ...listPages()].flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map((match) => ({
      page,
      code: match[1]!,
    })),
  )
}

test('every block of YAML can be read', () => {
  const blocks = blocksIn('yaml')
  expect(blocks.length).toBeGreaterThan(5)
  for (const { page, code } of blocks) expect(() => parseYaml(code), `${page}:\n${code}`).not.toThrow()
})

test('every kopf command that is shown has the options it is shown with', () => {
  const commands = createProgram().commands
  const shown = blocksIn('shell').flatMap(({ page, code }) =>
    code
      .replaceAll('\\\n', ' ')
      .split('\n')
      .map((line) => /^(?:npx )?kopf ([a-z].*?)(?: [|#>].*)?$/.exec(line)?.[1])
      .filter((words) => words !== undefined)
      .map((words) => ({ page, words: words.split(/\s+/) })),
  )
  expect(shown.length).toBeGreaterThan(30)
  const wrong = shown.filter(({ words: [name, ...rest] }) => {
    if (name === 'help') return false
    const flags = commands
      .find((command) => command.name() === name)
      ?.options.flatMap(({ short, long }) => [short, long])
      .concat('-h', '--help')
    return flags === undefined || rest.some((word) => /^--?[a-z]/i.test(word) && !flags.includes(word.split('=')[0]))
  })
  expect(wrong.map(({ page, words }) => `${page}: kopf ${words.join(' ')}`)).toEqual([])
})

test('no link leads nowhere', () => {
  const dead = pages.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)]
      .map(([, path, anchor]) => ({ target: path === '' ? page : join(page, '..', path!), anchor }))
      .filter(({ target, anchor }) => !exists(target) || !(anchor === undefined || anchorsOf(target).includes(anchor)))
      .map(({ target, anchor }) => `${page} -> ${target}${anchor === undefined ? '' : `#${anchor}`}`),
  )
  expect(dead).toEqual([])
})

function anchorsOf(page: string): string[] {
  const headings = readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)
  return [...headings].map(([, title]) => toAnchor(title!))
}

test('every page can be reached from the README', () => {
  const seen = new Set<string>()
  const pending = ['README.md']
  for (let page = pending.pop(); page !== undefined; page = pending.pop()) {
    if (seen.has(page) || !page.endsWith('.md')) continue
    seen.add(page)
    const links = readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)
    for (const [, target] of links) pending.push(join(page, '..', target!))
  }
  expect(pages.filter((page) => !seen.has(page))).toEqual([])
})

/** The rows of the tables of a page whose first cell is code: the cells. */
function rowsOf(page: string): string[][] {
  const lines = readFileSync(page, 'utf8').split('\n')
  return lines
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

test.each(Object.keys(generated))('%s repeats the code as it is: else run `npm run docs:generate`', (file) => {
  const text = readFileSync(file, 'utf8')
  expect(generated[file]!(text)).toBe(text)
})

test('the sidebar of the site has every page, and no page that is not there', () => {
  const listed = sections.flatMap(({ pages }) => pages.map((page) => `${typeof page === 'string' ? page : page[0]}.md`))
  // These have lists of their own; the first page is everywhere.
  const isListedElsewhere = (page: string) => /^(docs\/decisions\/\d|examples\/|docs\/index\.md$)/.test(page)
  expect([...listed].sort()).toEqual(listPages().filter((page) => !isListedElsewhere(page)))
})

test('no two pages of the site have one address', () => {
  const addresses = listPages().map(pageOf)
  expect(addresses).not.toContain(undefined)
  expect(new Set(addresses).size).toBe(addresses.length)
})

test('the figures on the first page of the site are those of the benchmarks', () => {
  const figures = JSON.stringify(home).match(/\d[\d,.]* (?:ms|MB|%)/g) ?? []
  expect(figures.length).toBeGreaterThan(6)
  const benchmarks = readFileSync(join('bench', 'README.md'), 'utf8')
  expect(figures.filter((figure) => !benchmarks.includes(` ${figure}`))).toEqual([])
})

test('the codes of errors in the reference are those of the code', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
  )
  const codes = sources.flatMap((path) =>
    [...readFileSync(join('src', path), 'utf8').matchAll(/'(KOPF_[A-Z_]+)'/g)].map((match) => match[1]!),
  )
  // Variables of the environment begin alike.
  const actual = [...new Set(codes)].filter((code) => !code.startsWith('KOPF_RUN_')).sort()
  const page = readFileSync(join('docs', 'reference', 'errors.md'), 'utf8')
  const codeSections = page.split(/^### /m).slice(1)
  expect(codeSections.map((text) => text.split('\n')[0])).toEqual(actual)
  // What is the case, and what to do about it.
  const isComplete = (text: string) => /^\w+\n\n[A-Z`].*?\.\n\n\*\*To do:\*\* \S.*\.\n*$/s.test(text)
  expect(codeSections.filter((text) => !isComplete(text))).toEqual([])
})

/** Servers list them to whoever gives them one that is not there. */
function optionsOf(Server: new (options: never) => unknown): readonly string[] | undefined {
  const message = String(catching(() => new Server({ none: 'such' } as never)))
  return /there are (.*)$/.exec(message)?.[1]?.split(', ')
}

test('the options of webhook servers in the reference are those of the code', () => {
  const actual = optionsOf(WebhookServer)
  const documented = rowsOf(join('docs', 'reference', 'webhook-servers.md')).map(([name]) => name!.replaceAll('`', ''))
  expect(documented.filter((name) => !name.startsWith('Webhook'))).toEqual(actual)
})

test('so are those of webhook servers in the cluster and elsewhere', () => {
  const rows = rowsOf(join('docs', 'reference', 'webhook-servers-in-clusters.md'))
  const documented = rows.map(([name]) => name!).filter((name) => /^`[a-z]\w+`$/.test(name))
  const actual = [WebhookServiceServer, WebhookNgrokTunnel].flatMap((Server) => optionsOf(Server) ?? [])
  expect(documented).toEqual(actual.map((name) => `\`${name}\``))
})

function catching(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    return error
  }
}

function exists(path: string): boolean {
  try {
    readFileSync(path)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EISDIR'
  }
}
