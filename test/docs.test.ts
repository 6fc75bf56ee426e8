/**
 * Compiles and runs every TypeScript block of the README and of docs/, and compares tables that repeat the code with the code.
 *
 * A block with imports is a complete program. A block without imports is the middle of an operator: the imports that it needs
 * and the operator itself are prepended; in decisions, such blocks are prose. A block that starts with a file name, such as
 * `// heavy.ts`, is that file, and other blocks may refer to it. The blocks of the tutorial are parts of files in
 * examples/tutorial, which are compiled with the examples and run by test/tutorial.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as kubernetes from 'kopf/kubernetes'
import { WebhookNgrokTunnel, WebhookServer, WebhookServiceServer } from 'kopf/webhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listPages, pageOf, titleOf, toAnchor } from '../docs/.vitepress/pages.ts'
import { sections } from '../docs/.vitepress/sidebar.ts'
import { createProgram } from '../src/cli/program.ts'
import { parseYaml } from '../src/util/yaml.ts'
import { generated } from '../tools/docs/generate.ts'
import { filesWithoutHeader } from '../tools/docs/source-files.ts'

const run = promisify(execFile)
const docs = listPages().filter((page) => page.startsWith('docs/'))
const pages = ['README.md', ...docs].sort()

/** The resource of typed blocks, as in the guide. */
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
  [...readFileSync(page, 'utf8').matchAll(/^```ts\n(.*?)^```(?:\n\n```\n(.*?)^```)?/gms)].map((match, index) => ({
    page,
    /** The block after a program that prints: its output. */
    output: match[1]!.includes('process.stdout.write') ? match[2] : undefined,
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
  const kinds = Object.keys(kubernetes).filter((name) => uses(name) && name !== 'Event')
  const builtins = kinds.length === 0 ? '' : `import { ${kinds.join(', ')} } from 'kopf/kubernetes'\n`
  return `import { ${imports} } from 'kopf'\n${builtins}${needsDatabase ? database : ''}${outside}const kopf = new Operator()\n${code}`
}

/** The exports of the package, read from the source, since types do not exist at run time. */
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
      // `on`, `run` and `start` belong to the default operator; in a block with its own operator they are ordinary words.
      .filter(({ name }) => !['on', 'run', 'start'].includes(name)),
  )
}

/** Inside the project, so that `kopf` resolves to this package; ignored by git. */
const folder = join('.docs', String(process.pid))

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  for (const { file, code } of programs) writeFileSync(join(folder, file), `${code}\nexport {}\n`)
  const compilerOptions = { isolatedDeclarations: false, declaration: false, rootDir: '../..' }
  const tsconfig = { extends: '../../tsconfig.json', compilerOptions, include: ['./*.ts'], exclude: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the docs contain programs', () => {
  expect(programs.length).toBeGreaterThan(30)
})

test('the programs in the docs compile', { timeout: 120_000 }, async () => {
  const compiled = run(join('node_modules', '.bin', 'tsc'), ['-p', folder]).catch((error: { stdout: string }) => error)
  expect((await compiled).stdout).toBe('')
})

describe('programs in the docs', () => {
  const said: Record<string, string> = {}
  const printed: Record<string, string[]> = {}

  beforeAll(async () => {
    const runner = join('test', 'support', 'run-programs.ts')
    const loaders = ['--import', 'tsx', '--import', './test/support/typescript-in-threads.mjs', '--conditions=source']
    await run(process.execPath, [...loaders, runner, folder])
    Object.assign(said, JSON.parse(readFileSync(join(folder, 'said.json'), 'utf8')))
    Object.assign(printed, JSON.parse(readFileSync(join(folder, 'printed.json'), 'utf8')))
  }, 120_000)

  test.each(programs.map(({ name, file }) => [name, file]))('the program %s in the docs runs to its end', (_, file) => {
    expect(said).toHaveProperty([file])
    // Operators in a block log at INFO; any other output is an error.
    const lines = said[file]!.split('\n').filter((line) => line !== '' && !/^\[[^\]]+\] \S+ +\[INFO {4}\]/.test(line))
    expect(lines).toEqual([])
  })

  const shown = programs.filter(({ output }) => output !== undefined)
  test.each(shown.map(({ name, file, output }) => [name, file, output]))(
    'the program %s in the docs prints what the page shows',
    (_, file, output) => {
      expect(printed[file!]).toContain(output)
    },
  )
})

/** The blocks of a language in the pages and the examples. */
function blocksIn(language: string): { page: string; code: string }[] {
  return ['README.md', ...listPages()].flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map((match) => ({
      page,
      code: match[1]!,
    })),
  )
}

test('every YAML block in the docs is valid', () => {
  const blocks = blocksIn('yaml')
  expect(blocks.length).toBeGreaterThan(5)
  for (const { page, code } of blocks) expect(() => parseYaml(code), `${page}:\n${code}`).not.toThrow()
})

test('every kopf command in the docs has only existing options', () => {
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
    const command = commands.find((one) => one.name() === name)
    const nested = command?.commands.find((one) => one.name() === rest[0])
    const flags = (nested ?? command)?.options.flatMap(({ short, long }) => [short, long]).concat('-h', '--help')
    return flags === undefined || rest.some((word) => /^--?[a-z]/i.test(word) && !flags.includes(word.split('=')[0]))
  })
  expect(wrong.map(({ page, words }) => `${page}: kopf ${words.join(' ')}`)).toEqual([])
})

test('a command that runs until Ctrl-C is the last one in its block, unless the next one is for another terminal', () => {
  const endless =
    /\bkopf (?:server|run|dev)\b|^npm start|^npm run dev\b|\bport-forward\b|^kubectl logs .*(?:-f|--follow)/
  const blocks = blocksIn('shell').map(({ page, code }) => ({
    page,
    lines: code.replaceAll('\\\n', ' ').trimEnd().split('\n'),
  }))
  const wrong = blocks.flatMap(({ page, lines }) =>
    lines
      // Lines with the same command are alternatives.
      .filter(
        (line, index) =>
          endless.test(line) && /^(?!.*another terminal)(?:kubectl|curl|cd|docker) /.test(lines[index + 1] ?? ''),
      )
      .map((line) => `${page}: ${line}`),
  )
  expect(wrong).toEqual([])
})

test('every link in the docs leads to an existing page and heading', () => {
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

test('every page of the docs can be reached from the README', () => {
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

/** The cells of the table rows of a page whose first cell is code. */
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

test.each(Object.keys(generated))('the generated page %s is up to date (npm run docs:generate)', (file) => {
  const text = readFileSync(file, 'utf8')
  expect(generated[file]!(text)).toBe(text)
})

test('every source file has a header comment', () => {
  expect(filesWithoutHeader()).toEqual([])
})

test.each([
  ['docs/architecture.md', 'src'],
  ['docs/server-architecture.md', join('src', 'server')],
])('every source file that %s names exists', (page, folder) => {
  const named = [...readFileSync(page, 'utf8').matchAll(/`([a-z][\w/-]*\.ts)`/g)].map((match) => match[1]!)
  expect(named.length).toBeGreaterThan(20)
  const missing = named.filter((path) => !exists(join(folder, path)) && !exists(path))
  expect(missing).toEqual([])
})

test('the events in the reference of the observer, and their data, are those of the interface', () => {
  const documented = rowsOf(join('docs', 'reference', 'observer.md'))
    .filter((cells) => cells.length === 3)
    .map(([name, , data]) => [name!.replaceAll('`', ''), (data!.match(/\w+/g) ?? []).sort()])
  expect(Object.fromEntries(documented)).toEqual(eventsOf(readFileSync(join('src', 'observer.ts'), 'utf8')))
})

/** The names of the data of each event, read from the source of the interface `Observer`. */
function eventsOf(source: string): Record<string, string[]> {
  const fieldsOf = (text: string) => [...text.matchAll(/\breadonly (\w+):/g)].map((match) => match[1]!)
  const interfaces = Object.fromEntries(
    [...source.matchAll(/^export interface (\w+) \{\n(.*?)^\}/gms)].map(([, name, body]) => [name!, body!]),
  )
  const events = interfaces['Observer']!.matchAll(/^ {2}(\w+)\?\((.*?)\): void$/gms)
  return Object.fromEntries(
    [...events].map(([, name, type]) => {
      const inherited = [...type!.matchAll(/^\s*event: (ObservedCall|ObservedStream|ObservedReview)\b/g)].map(
        (match) => interfaces[match[1]!]!,
      )
      return [name!, [...inherited, type!].flatMap(fieldsOf).sort()]
    }),
  )
}

test('the sidebar of the site lists exactly the existing pages', () => {
  const listed = sections.flatMap(({ pages }) => pages.map((page) => `${typeof page === 'string' ? page : page[0]}.md`))
  // These pages are listed elsewhere; the home page is linked from everywhere.
  const isListedElsewhere = (page: string) =>
    /^(docs\/decisions\/\d|examples\/|cookbook\/[^/]+\/|docs\/index\.md$)/.test(page)
  expect([...listed].sort()).toEqual(listPages().filter((page) => !isListedElsewhere(page)))
})

test('every page of the site has its own address', () => {
  const addresses = listPages().map(pageOf)
  expect(addresses).not.toContain(undefined)
  expect(new Set(addresses).size).toBe(addresses.length)
})

test('no two pages of the site have the same title', () => {
  const titles = listPages().map((page) => titleOf(page).toLowerCase())
  expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([])
})

test.each(['README.md', join('docs', 'index.md')])('the figures in %s are those of the benchmarks', (page) => {
  const figures = readFileSync(page, 'utf8').match(/\d[\d,.]* (?:ms|MB|%)/g) ?? []
  expect(figures.length).toBeGreaterThan(4)
  const sources = [join('bench', 'README.md'), join('docs', 'about', 'alternatives.md')]
  const benchmarks = sources.map((file) => readFileSync(file, 'utf8')).join('\n')
  expect(figures.filter((figure) => !benchmarks.includes(` ${figure}`))).toEqual([])
})

test('the error codes in the reference are those of the code', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
  )
  const codes = sources.flatMap((path) =>
    [...readFileSync(join('src', path), 'utf8').matchAll(/'(KOPF_[A-Z_]+)'/g)].map((match) => match[1]!),
  )
  // Environment variables start with the same prefix.
  const actual = [...new Set(codes)].filter((code) => !code.startsWith('KOPF_RUN_')).sort()
  const page = readFileSync(join('docs', 'reference', 'errors.md'), 'utf8')
  const codeSections = page
    .split(/^## Next/m)[0]!
    .split(/^### /m)
    .slice(1)
  expect(codeSections.map((text) => text.split('\n')[0])).toEqual(actual)
  // A section says the meaning of the error and the remedy.
  const isComplete = (text: string) => /^\w+\n\n[A-Z`].*?\.\n\n\*\*To do:\*\* \S.*\.\n*$/s.test(text)
  expect(codeSections.filter((text) => !isComplete(text))).toEqual([])
})

/** The options of a webhook server, taken from its error for an unknown option. */
function optionsOf(Server: new (options: never) => unknown): readonly string[] | undefined {
  const message = String(catching(() => new Server({ none: 'such' } as never)))
  return /there are (.*)$/.exec(message)?.[1]?.replaceAll('"', '').split(', ')
}

test('the options of webhook servers in the reference are those of the code', () => {
  const actual = optionsOf(WebhookServer)
  const documented = rowsOf(join('docs', 'reference', 'webhook-servers.md')).map(([name]) => name!.replaceAll('`', ''))
  expect(documented.filter((name) => !name.startsWith('Webhook'))).toEqual(actual)
})

test('the options of in-cluster and tunnel webhook servers in the reference are those of the code', () => {
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
