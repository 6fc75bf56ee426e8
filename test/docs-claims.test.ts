/**
 * Compares claims of the documentation with the code: the options of `start` and `run`, the arguments and options of each handler type, and the
 * commands of the command line. Quoted log lines: docs-log-lines.test.ts. Quoted YAML and limits: docs-quotations.test.ts.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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
    // One line each: the command asks questions, and would read a second pasted line as an answer.
    const fromClone =
      '\n```shell\nnpm ci && npm run create -- ../my-operator && cd ../my-operator && npm run dev\n```\n'
    const published = '\n```shell\nnpm create kopf@latest my-operator && cd my-operator && npm run dev\n```\n'
    // Until the package is published, only the first one works.
    expect(text.split(fromClone)[1]).toContain(published)
  },
)

test('the options of start in the guide on embedding are those of RunOptions, except those that it leaves to the reference', () => {
  const page = readFileSync(join('docs', 'guide', 'embedding.md'), 'utf8')
  const documented = tableAfter(page, '## Options of start').flatMap(([name]) => codeIn(name!))
  const actual = interfaceIn(readFileSync(join('src', 'run', 'options.ts'), 'utf8'), 'RunOptions').members
  // `lifecycle` is deprecated; `loadWorkerModule`, `stopHint` and `logsDashboard` are for commands.
  const left = ['lifecycle', 'loadWorkerModule', 'stopHint', 'logsDashboard']
  expect([...documented, ...left].sort(byName)).toEqual([...actual].sort(byName))
})

test('the arguments that callbacks do not get in the guide on filters are those of the code', () => {
  const page = readFileSync(join('docs', 'guide', 'filters.md'), 'utf8')
  const sentence = /Callbacks get the arguments of the handler, without ([^.]*)\./s.exec(page)![1]!
  const source = readFileSync(join('src', 'handlers', 'args', 'args.ts'), 'utf8')
  const omitted = /type FilterArgs<A> = Omit<\s+A,(.*?)^>/ms.exec(source)![1]!
  const ofAttempts = interfaceIn(source, 'AttemptArgs').members
  const named = [...omitted.matchAll(/'(\w+)'/g)].map((match) => match[1]!)
  expect(codeIn(sentence).sort(byName)).toEqual([...ofAttempts, ...named].sort(byName))
})

test('the methods of the client in the reference are those of the interface', () => {
  const rows = tableAfter(reference('client'), '## Methods')
  const source = readFileSync(join('src', 'client', 'client.ts'), 'utf8')
  const body = /^export interface Client \{\n(.*?)^\}/ms.exec(source)![1]!
  const actual = [...body.matchAll(/^ {2}(\w+)[<(]/gm)].map((match) => match[1]!)
  expect(actual.length).toBeGreaterThan(5)
  expect(rows.map(([call]) => /^`(\w+)/.exec(call!)![1]!).sort(byName)).toEqual([...new Set(actual)].sort(byName))
})

test.each([
  ['AnnotationsProgressStorage', 'progress-storage.ts'],
  ['StatusProgressStorage', 'progress-storage.ts'],
  ['AnnotationsDiffBaseStorage', 'diffbase-storage.ts'],
  ['StatusDiffBaseStorage', 'diffbase-storage.ts'],
])('the options of %s in the reference, with their defaults, are those of the code', (name, file) => {
  const source = readFileSync(join('src', 'persistence', file), 'utf8')
  const row = reference('storages')
    .split('\n')
    .find((line) => line.startsWith(`| \`${name}\``))!
  const documented = [...row.split('|')[3]!.matchAll(/`(\w+)` \(`([^`]+)`\)/g)].map(([, option, value]) =>
    /^(?:true|false)$/.test(value!) ? `${option} = ${value}` : `${option} = '${value}'`,
  )
  const actual = new RegExp(`class ${name} .*?const \\{ (.*?) \\} = options`, 's').exec(source)![1]!
  expect(documented).toEqual(actual.split(', '))
})

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

  test('the page "Kopf names and their counterparts" lists every command that Kopf does not have', () => {
    const page = readFileSync(join('docs', 'from-kopf', 'names.md'), 'utf8')
    const listed = tableAfter(page, 'New commands:').map(([command]) => /`kopf ([a-z ]+)`/.exec(command!)![1]!)
    const ofKopf = ['run', 'freeze', 'resume']
    expect([...listed, ...ofKopf].sort(byName)).toEqual([...names].filter((name) => name !== 'help').sort(byName))
  })

  test('every option in a sentence about a command exists', () => {
    const all = commands.flatMap((command) => [command, ...command.commands])
    const flags = [...all, createProgram()].flatMap(({ options }) =>
      options.flatMap(({ short, long }) => [short, long]),
    )
    const known = new Set([...flags, '-h', '--help'])
    // Options of kubectl, Helm, Node, npm and the benchmarks.
    const others = /^--(?:values|take-ownership|max-old-space-size|cascade|field-selector|provenance|quick|with-crds)\b/
    const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...listPages()].filter(
      (page) => !/decisions/.test(page),
    )
    const unknown = pages.flatMap((page) =>
      [
        ...readFileSync(page, 'utf8')
          .replaceAll(/^ *```.*?^ *```/gms, '')
          .matchAll(/`(?:(?:npx )?kopf [a-z ]+ )?(--?[a-zA-Z][\w-]*)/g),
      ]
        .map((match) => match[1]!)
        .filter((flag) => !known.has(flag) && !others.test(flag))
        .map((flag) => `${page}: ${flag}`),
    )
    expect(unknown).toEqual([])
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

function listSources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.includes('generated'))
    .map((path) => join(folder, path))
}

function proseOf(page: string): string {
  return page.replaceAll(/^ *```.*?^ *```/gms, '')
}

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
