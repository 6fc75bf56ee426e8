/**
 * Compares claims of the documentation with the code: the options of `start` and `run`, the arguments and options of each handler type, the
 * commands of the command line, and the quoted log lines.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listPages } from '../docs/.vitepress/pages.ts'
import { createProgram } from '../src/cli/program.ts'
import { handlerDefinitions } from '../src/handler-definitions.ts'
import { commonOptions, filterOptions, retryOptions } from '../src/handlers/definition.ts'

const reference = (name: string) => readFileSync(join('docs', 'reference', `${name}.md`), 'utf8')
const byName = (a: string, b: string) => a.localeCompare(b)

/** The rows of the first table after a heading or a marker, as trimmed cells. */
function tableAfter(page: string, mark: string): string[][] {
  const start = page.indexOf(mark)
  if (start < 0) throw new Error(`The page has no ${mark}`)
  const [table = ''] = /(?:^\|.*\n)+/m.exec(page.slice(start)) ?? []
  return table
    .split('\n')
    .slice(2, -1)
    .map((row) =>
      row
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

/** The names in code spans. */
function codeIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)
}

/** An interface, read from its source: the types that it extends, and its own members. */
function interfaceIn(source: string, name: string): { bases: string; members: string[] } {
  const found = new RegExp(`^(?:export )?interface ${name}\\b(.*?) \\{(?:\\}|\\n(.*?)^\\})`, 'ms').exec(source)
  if (found === null) throw new Error(`There is no interface ${name}`)
  const members = (found[2] ?? '').matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)
  return {
    bases: found[1]!.split(/\sextends\s+(?!ResourceLike)/)[1] ?? '',
    members: [...members].map((match) => match[1]!),
  }
}

test('the options of start and run in the reference are those of RunOptions', () => {
  const rows = tableAfter(reference('handlers-and-options'), '## Options of start and run')
  const actual = interfaceIn(readFileSync(join('src', 'run', 'options.ts'), 'utf8'), 'RunOptions').members
  expect(rows.flatMap(([name]) => codeIn(name!))).toEqual(expect.arrayContaining(actual))
  expect(rows).toHaveLength(actual.length)
})

test.each(['README.md', 'docs/index.md', 'docs/guide/getting-started.md', 'docs/guide/installing.md'])(
  '%s has the commands that create a project, from a clone and from the registry',
  (page) => {
    const text = readFileSync(page, 'utf8')
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(scripts.create).toMatch(/ init --install$/)
    expect(text).toContain(
      '\n```shell\nnpm ci && npm run create -- ../my-operator\ncd ../my-operator && npm run dev\n```\n',
    )
    expect(text).toContain('\n```shell\nnpm create kopf@latest my-operator && cd my-operator && npm run dev\n```\n')
  },
)

test('the options of an operator in the reference are those of OperatorOptions', () => {
  const rows = tableAfter(reference('handlers-and-options'), '## Options of the operator')
  const actual = interfaceIn(readFileSync(join('src', 'operator.ts'), 'utf8'), 'OperatorOptions').members
  expect(rows.flatMap(([name]) => codeIn(name!))).toEqual(actual)
})

describe('the arguments of handlers in the reference', () => {
  const source = readFileSync(join('src', 'handlers', 'args', 'args.ts'), 'utf8')

  /** The members of an Args interface, with those of `A` and `Omit<A, 'name'>` in its extends clause. */
  function argumentsOf(name: string): Set<string> {
    const { bases, members } = interfaceIn(source, name)
    const inherited = [...bases.matchAll(/(Omit<)?(\w+Args)(?:<[^']*?>)?(?:, ((?:'\w+'(?: \| )?)+)>)?/g)].flatMap(
      ([, , base, omitted = '']) => [...argumentsOf(base!)].filter((one) => !omitted.includes(`'${one}'`)),
    )
    return new Set([...inherited, ...members])
  }

  const groups: Readonly<Record<string, readonly string[]>> = {
    changes: ['create', 'update', 'delete', 'resume', 'field', 'subhandler'],
    background: ['daemon', 'timer'],
    admission: ['validate', 'mutate'],
    activities: ['startup', 'login', 'probe', 'cleanup'],
  }
  const types = handlerDefinitions.flatMap(({ types }) => Object.keys(types))
  const objects = types.filter((type) => !groups['activities']!.includes(type))
  const interfaceOf: Readonly<Record<string, string>> = {
    ...Object.fromEntries(groups['changes']!.map((type) => [type, 'ChangeArgs'])),
    ...Object.fromEntries(groups['admission']!.map((type) => [type, 'AdmissionArgs'])),
    ...Object.fromEntries(groups['activities']!.map((type) => [type, 'ActivityArgs'])),
    field: 'FieldArgs',
    event: 'EventArgs',
    index: 'IndexArgs',
    daemon: 'DaemonArgs',
    timer: 'TimerArgs',
    reconcile: 'ReconcileArgs',
    convert: 'ConvertArgs',
  }

  /** The handler types of a cell: `changes, reconcile`, or `objects except convert`. */
  function typesIn(cell: string): string[] {
    const [included = '', excluded = ''] = cell.replaceAll('`', '').split(' except ')
    const expand = (text: string) =>
      text
        .split(', ')
        .filter((word) => word !== '')
        .flatMap((word) => (word === 'all' ? types : word === 'objects' ? objects : (groups[word] ?? [word])))
    const left = expand(excluded)
    return expand(included).filter((type) => !left.includes(type))
  }

  const rows = tableAfter(reference('arguments'), '<!-- arguments -->')

  test.each(types)('a handler of the type %s has exactly the arguments that the reference lists for it', (type) => {
    const documented = rows.filter(([, , where]) => typesIn(where!).includes(type)).flatMap(([names]) => codeIn(names!))
    expect([...new Set(documented)].sort(byName)).toEqual([...argumentsOf(interfaceOf[type]!)].sort(byName))
  })
})

describe('the options of handlers in the reference', () => {
  const page = reference('handlers-and-options')
  const optionsAfter = (heading: string) => tableAfter(page, heading).flatMap(([names]) => codeIn(names!))
  const isFor = (heading: string, type: string) =>
    tableAfter(page, heading)
      .filter(([, whom]) => whom === 'both' || whom === type)
      .flatMap(([names]) => codeIn(names!))
  const named: Readonly<Record<string, readonly string[]>> = {
    retries: optionsAfter('## Retries'),
    filters: optionsAfter('## Filters').filter((name) => name !== 'old' && name !== 'new'),
    reconcile: optionsAfter('## Reconcile'),
    daemon: isFor('## Daemons and timers', 'daemon'),
    timer: isFor('## Daemons and timers', 'timer'),
    admission: optionsAfter('## Admission'),
    conversion: optionsAfter('## Conversion'),
  }

  test('the shared options are those of the code', () => {
    expect(named['retries']).toEqual([...retryOptions])
    expect(named['filters']).toEqual([...filterOptions])
    expect(optionsAfter('## Names')).toEqual([...commonOptions])
  })

  const rows = new Map(
    tableAfter(page, '| handler type').map(([form, , options]) => [/^`(?:on\.)?(\w+)/.exec(form!)![1]!, options!]),
  )
  const infos = handlerDefinitions.flatMap(({ types }) => Object.entries(types))

  test.each(infos)('a handler of the type %s has exactly the options that the reference lists for it', (type, info) => {
    // "filters except `field`, `old`, `new`": the exception is the first name after it.
    const cell = rows.get(type)!
    const except = /except `(\w+)`/.exec(cell)?.[1]
    const groups = Object.keys(named).filter((group) => new RegExp(`(?:^|, |\\[)${group}\\b`).test(cell))
    const listed = [...groups.flatMap((group) => named[group]!), ...codeIn(cell)].filter((name) => name !== except)
    const common = type === 'subhandler' ? ['param'] : commonOptions
    expect([...common, ...listed].sort(byName)).toEqual([...info.options].sort(byName))
  })
})

describe('the commands in the documentation', () => {
  const commands = createProgram().commands
  const names = commands.flatMap((command) => [
    command.name(),
    ...command.commands.map((one) => `${command.name()} ${one.name()}`),
  ])

  test('the reference has a section for each command, and no other', () => {
    const sections = [...reference('cli').matchAll(/^## kopf (.*)$/gm)].map((match) => match[1]!)
    expect(sections.sort(byName)).toEqual(names.sort(byName))
  })

  test('every command that a page mentions exists', () => {
    const pages = ['README.md', ...listPages()].filter((page) => !page.startsWith(join('docs', 'decisions')))
    const unknown = pages.flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/`(?:npx )?kopf ([a-z]+)[^`\n]*`/g)]
        .map((match) => match[1]!)
        .filter((name) => name !== 'help' && !commands.some((command) => command.name() === name))
        .map((name) => `${page}: kopf ${name}`),
    )
    expect(unknown).toEqual([])
  })
})

/** A text with placeholders, as a pattern for log lines. */
interface Template {
  /** The longest fixed part, for a quick first look. */
  readonly longest: string
  readonly pattern: RegExp
  /** The pattern of a whole log line, with fields at its end. */
  readonly whole: RegExp
  /** The text without placeholders: short texts match too much. */
  readonly fixed: string
}

/** The string and template literals of a source text, by a small scanner: comments are skipped, and templates may be nested. */
function templatesIn(source: string): Template[] {
  const found: string[][] = []
  let at = 0

  function scanCode(end: string): void {
    let depth = 0
    while (at < source.length) {
      const char = source[at]!
      if (char === end && depth === 0) return
      if (char === '{') depth += 1
      if (char === '}') depth -= 1
      if (source.startsWith('//', at)) at = indexOrEnd('\n')
      else if (source.startsWith('/*', at)) at = indexOrEnd('*/') + 1
      else if (char === "'" || char === '"') scanString(char)
      else if (char === '`') scanTemplate()
      at += 1
    }
  }
  function indexOrEnd(text: string): number {
    const index = source.indexOf(text, at + 1)
    return index < 0 ? source.length : index
  }
  function scanString(quote: string): void {
    let text = ''
    for (at += 1; at < source.length && source[at] !== quote && source[at] !== '\n'; at += 1) {
      if (source[at] === '\\') at += 1
      text += source[at]
    }
    found.push([text])
  }
  function scanTemplate(): void {
    const parts = ['']
    for (at += 1; at < source.length && source[at] !== '`'; at += 1) {
      if (source.startsWith('${', at)) {
        at += 2
        scanCode('}')
        parts.push('')
      } else {
        if (source[at] === '\\') at += 1
        parts.push(`${parts.pop()}${source[at]}`)
      }
    }
    found.push(parts)
  }

  scanCode('')
  return found.filter((parts) => parts.some((part) => part !== '')).map(toTemplate)
}

function toTemplate(parts: readonly string[]): Template {
  const escaped = parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('\n', ' '))
  const source = escaped.join('.*')
  return {
    longest: parts.reduce((a, b) => (b.length > a.length ? b : a)),
    pattern: new RegExp(source),
    whole: new RegExp(`^${source}(?: \\w+=.*)?$`),
    fixed: parts.join('').trim(),
  }
}

function listSources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.includes('generated'))
    .map((path) => join(folder, path))
}

/** Eight characters of fixed text make a match by chance improbable. A template may be a part of a composed message. */
function isOfFramework(line: string, templates: readonly Template[]): boolean {
  return templates.some(({ longest, pattern }) => {
    const [matched = ''] = line.includes(longest) ? (pattern.exec(line) ?? []) : []
    return matched.length >= line.length / 3
  })
}

/** A log line of a sample is one of its texts, possibly followed by fields: `Starting engine="postgres"`. */
function isOfSample(line: string, templates: readonly Template[]): boolean {
  if (subjects.test(line)) return false
  return templates.some(({ longest, whole, fixed }) => fixed !== '' && line.includes(longest) && whole.test(line))
}

/** Only the framework logs lines that begin like this. */
const subjects =
  /^(?:Handler|Daemon|Timer|Reconciler|Activity|Indexer|Creation|Updating|Deletion|Resuming) (?:['"…]|is processed)/

const full = /^\[\d{4}-\d\d-\d\d [\d:,.]+\] \S+ +\[[A-Z]+ *\] (?:\[\S+\] )?(.+)$/
const short = /^\d\d:\d\d:\d\d (?:DEBUG|INFO|WARN|WARNING|ERROR) +(?:[a-z0-9][\w.-]*(?:\/[\w.-]+)? {2})?(.+)$/

/** The messages of log lines in blocks without a language. */
function logMessagesOf(page: string): string[] {
  const blocks = [...page.matchAll(/^ *```(\w*)\n(.*?)^ *```/gms)].filter(([, language]) => language === '')
  return blocks
    .flatMap(([, , text]) => text!.split('\n'))
    .map((line) => (full.exec(line.trim()) ?? short.exec(line.trim()))?.[1])
    .filter((message) => message !== undefined)
}

function proseOf(page: string): string {
  return page.replaceAll(/^ *```.*?^ *```/gms, '')
}

/** Log messages in sentences and tables: `Handler 'create' succeeded.` */
function inlineMessagesOf(page: string): string[] {
  return [...proseOf(page).matchAll(/`([^`\n]+)`|"([^"\n]+)"/g)]
    .map(([, code, quote]) => (code ?? quote)!)
    .filter((text) => subjects.test(text))
}

const templatesOfFolder = new Map<string, Template[]>()

function templatesUnder(folder: string): Template[] {
  const known = templatesOfFolder.get(folder)
  if (known !== undefined) return known
  const files = listSources(folder).filter((path) => !path.includes('node_modules'))
  const templates = files.flatMap((path) => templatesIn(readFileSync(path, 'utf8')))
  templatesOfFolder.set(folder, templates)
  return templates
}

/**
 * The texts of a page's own code: its blocks, the edits that the tutorial asks for (`would like`), and the files of its folder. Pages of
 * the manual also quote the examples; a short text of an example would match too much.
 */
function samplesOf(page: string, text: string): Template[] {
  const blocks = [...text.matchAll(/^ *```(?:ts|js|diff)\n(.*?)^ *```/gms)].map((match) => match[1]!)
  const edits = page.startsWith(join('docs', 'tutorial')) ? codeIn(proseOf(text)).map((span) => ['', span, '']) : []
  const shown = [...blocks.flatMap(templatesIn), ...edits.map(toTemplate)]
  if (/^(?:examples|cookbook)\/\d?[^/]+\//.test(page)) return [...shown, ...templatesUnder(dirname(page))]
  return [...shown, ...templatesUnder('examples').filter(({ fixed }) => fixed.length > 5)]
}

test('every log line that a page quotes is a message of the framework, or of the sample on the page', {
  timeout: 60_000,
}, () => {
  const templates = templatesUnder('src').filter(({ fixed }) => fixed.length >= 8)
  const quoted = ['README.md', ...listPages()].flatMap((page) => {
    const text = readFileSync(page, 'utf8')
    const messages = [...logMessagesOf(text), ...inlineMessagesOf(text)]
    const samples = messages.length === 0 ? [] : samplesOf(page, text)
    return messages.map((message) => ({ page, message, samples }))
  })
  expect(quoted.length).toBeGreaterThan(50)
  const unknown = quoted.filter(
    ({ message, samples }) => !isOfFramework(message, templates) && !isOfSample(message, samples),
  )
  expect(unknown.map(({ page, message }) => `${page}: ${message}`)).toEqual([])
})

/** Lines of other programs that the page on troubleshooting quotes: the API server, kubectl, and columns of `kopf explain`. */
const foreign = /^(?:Internal error occurred|Error from server|NAME|databases-|\d{4}-| {2})/

test('every message that the page on troubleshooting quotes is one of the framework', { timeout: 60_000 }, () => {
  const page = readFileSync(join('docs', 'operate', 'troubleshooting.md'), 'utf8')
  const blocks = [...page.matchAll(/^ *```(\w*)\n(.*?)^ *```/gms)]
    .filter(([, language]) => language === '')
    .flatMap(([, , text]) => text!.split('\n').slice(0, -1))
  const lines = blocks.filter((line) => !foreign.test(line)).map((line) => line.replace(/^\[\S+\] /, ''))
  const cells = [...tableAfter(page, '| log line'), ...tableAfter(page, '| exit code')].flatMap(([first]) =>
    codeIn(first!),
  )
  const quoted = [...lines, ...cells.filter((cell) => /^[A-Z]\w+ /.test(cell) && !cell.startsWith('JavaScript'))]
  expect(quoted.length).toBeGreaterThan(18)
  const templates = templatesUnder('src').filter(({ fixed }) => fixed.length >= 8)
  const sources = listSources('src').map((path) => readFileSync(path, 'utf8'))
  // A quotation with gaps, or without its end: each part is in the source.
  const isInSource = (line: string) =>
    line.split('…').every((part) => sources.some((source) => source.includes(part.trim())))
  expect(quoted.filter((line) => !isOfFramework(line, templates) && !isInSource(line))).toEqual([])
})

/**
 * A project has the command in node_modules only, so a bare `kopf` is not found. A synopsis such as `kopf run [files...] [options]` and the name of a
 * command in a sentence stay. A code span with a file or an object is a command to run.
 */
describe('every kopf command to run begins with npx', () => {
  const projects = ['examples', 'cookbook', 'templates', 'packages'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.md') && !path.includes('node_modules'))
      .map((path) => join(folder, path)),
  )
  const pages = [...new Set(['README.md', ...listPages(), ...projects])].filter(
    (page) => !page.startsWith(join('docs', 'decisions')) && !page.startsWith('bench'),
  )
  const names = createProgram()
    .commands.map((command) => command.name())
    .join('|')
  const inBlock = new RegExp(`(?:^ *(?:\\$ )?|[;&|(] ?)kopf (?:${names}|--?[a-z]+)\\b(?!:|.*\\[options\\]).*$`, 'gm')
  const inProse = new RegExp(
    `\\b[Rr]un(?:ning)? \\[?\`kopf [^\`]*|\`kopf (?:${names})(?! migrate\`) [a-z<](?![^\`]*\\.py\\b)[^\`]*`,
    'g',
  )

  test('in blocks of the pages', () => {
    expect(pages.length).toBeGreaterThan(100)
    const bare = pages.flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/^ *```(?:shell|console|sh|bash)?\n(.*?)^ *```/gms)].flatMap(
        ([, block]) => (block!.match(inBlock) ?? []).map((line) => `${page}: ${line}`),
      ),
    )
    expect(bare).toEqual([])
  })

  test('in sentences and tables of the pages', () => {
    const bare = pages.flatMap((page) =>
      (proseOf(readFileSync(page, 'utf8')).match(inProse) ?? []).map((span) => `${page}: ${span}`),
    )
    expect(bare).toEqual([])
  })

  test('in the texts that the commands print', () => {
    // Commands are texts of their own, or stand at the beginning of a line, in quotes, after "run" or after a prompt.
    const command = new RegExp(
      `(?:^|\\$ |\\brun ["\`]?|: |["\`<(] *)kopf (?:${names}) (?:[a-z]+\\.ts|migrate\`|kopfexamples|bash|zsh|fish|-(?!-helm\`)|\\$\\{)`,
      'gm',
    )
    const sources = listSources('src').filter((path) => !path.startsWith(join('src', 'server')))
    const bare = sources.flatMap((path) =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => !/^ *(?:\/?\*|\/\/)/.test(line))
        .filter((line) => (line.replaceAll('\\`', '`').replace(/^ *'?/, '').match(command) ?? []).length > 0)
        .map((line) => `${path}: ${line.trim()}`),
    )
    expect(bare).toEqual([])
  })
})
