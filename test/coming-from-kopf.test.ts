/**
 * The page "Kopf names and their counterparts" lists every public name of Kopf 1.45.2 (recorded by tools/kopf-vectors/names.py; test/real/interop
 * checks that the record is up to date), and each listed counterpart exists.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as kopf from 'kopf'
import * as testing from 'kopf/testing'
import * as webhooks from 'kopf/webhooks'
import { beforeAll, describe, expect, test } from 'vitest'
import { createProgram } from '../src/cli/program.ts'
import { internalsOf } from '../src/operator-internals.ts'

interface Command {
  readonly options: readonly string[]
  readonly environment: readonly string[]
}

type Lists = Readonly<Record<string, readonly string[]>>

const recorded = JSON.parse(readFileSync(join('test', 'testdata', 'kopf-names.json'), 'utf8')) as {
  readonly names: readonly string[]
  readonly lifecycles: readonly string[]
  readonly decorators: Lists
  readonly functions: Lists
  readonly classes: Lists
  readonly enums: Lists
  readonly runner: { readonly parameters: readonly string[]; readonly members: readonly string[] }
  readonly arguments: Lists
  readonly settings: readonly string[]
  readonly commands: Readonly<Record<string, Command>>
}

const page = readFileSync(join('docs', 'from-kopf', 'names.md'), 'utf8')
const programs = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code!).join('\n')

interface Row {
  readonly theirs: readonly string[]
  readonly ours: readonly string[]
  readonly isNone: boolean
  readonly notes: string
}

/** The table rows below a heading, up to the next heading of any level. */
function rowsBelow(title: string): Row[] {
  const section = page.split(/^#+ /m).find((part) => part.startsWith(`${title}\n`))
  const cells = (section ?? '').split('\n').filter((line) => line.startsWith('| `'))
  return cells.map((line) => {
    const [theirs = '', ours = '', notes = ''] = line.split(/(?<!\\)\|/).slice(1, -1)
    return { theirs: spans(theirs).flatMap(apart), ours: spans(ours), isNone: ours.trim() === '—', notes: notes.trim() }
  })
}

function spans(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!)
}

/** Splits `adopt(forced, nested)` into `adopt(forced)` and `adopt(nested)`. */
function apart(span: string): string[] {
  const [, name, list] = /^(\w+)\((\w+(?:, \w+)+)\)$/.exec(span) ?? []
  return list?.split(', ').map((parameter) => `${name}(${parameter})`) ?? [span]
}

const nameSections = [
  'Registration',
  'Filters',
  'Errors',
  'Children and events',
  'Authentication',
  'Running an operator',
  'Storages',
  'Webhooks',
  'Types',
  'Methods',
]
const otherSections = ['Values', 'Parameters', 'Handlers', 'Resources', 'Options', 'Arguments', 'Settings']
const commandSections = ['Command line', 'Environment variables', 'KopfRunner']
const rowsOf = (...titles: string[]) => titles.flatMap(rowsBelow)

/** The names of Kopf that no row starts with. */
function missing(names: readonly string[], rows: readonly Row[]): string[] {
  const told = new Set(rows.flatMap(({ theirs }) => theirs))
  return names.filter((name) => !told.has(name))
}

describe('names of Kopf', () => {
  const cases: ReadonlyArray<readonly [string, readonly string[], readonly Row[]]> = [
    ['importable names', recorded.names.map((name) => `kopf.${name}`), rowsOf(...nameSections)],
    ['members of enumerations', members(recorded.enums), rowsOf('Values')],
    ['lifecycles', recorded.lifecycles.map((name) => `lifecycles.${name}`), rowsOf('Values')],
    ['parameters of functions', parameters(recorded.functions), rowsOf('Parameters')],
    ['parameters of classes', parameters(recorded.classes), rowsOf('Parameters')],
    ['decorators', Object.keys(recorded.decorators).map((name) => `@kopf.on.${name}`), rowsOf('Handlers')],
    ['options', distinct(recorded.decorators).map((name) => `${name}=`), rowsOf('Options', 'Resources')],
    ['arguments', distinct(recorded.arguments), rowsOf('Arguments')],
    ['settings', recorded.settings, rowsOf('Settings')],
    ['options of commands', distinct(recorded.commands, 'options'), rowsOf('Command line')],
    ['environment variables', distinct(recorded.commands, 'environment'), rowsOf('Environment variables')],
    ['parameters of the runner', parameters({ KopfRunner: recorded.runner.parameters }), rowsOf('Parameters')],
    ['members of the runner', members({ runner: recorded.runner.members }), rowsOf('KopfRunner')],
  ]
  test.each(cases)('the page "Kopf names and their counterparts" lists all names of Kopf: %s', (_, names, rows) => {
    expect(names.length).toBeGreaterThan(1)
    expect(missing(names, rows)).toEqual([])
  })
})

function members(lists: Lists): string[] {
  return Object.entries(lists).flatMap(([name, list]) => list.map((member) => `${name}.${member}`))
}

function parameters(lists: Lists): string[] {
  return Object.entries(lists).flatMap(([name, list]) => list.map((parameter) => `${name}(${parameter})`))
}

function distinct<T extends readonly string[] | Command>(lists: Readonly<Record<string, T>>, key?: keyof Command) {
  const all = Object.values(lists).flatMap((one) => (key === undefined ? one : (one as Command)[key]) as string[])
  return [...new Set(all)]
}

test('a name of Kopf without a counterpart has a note with the reason', () => {
  const rows = rowsOf(...nameSections, ...otherSections, ...commandSections)
  expect(rows.filter(({ isNone, notes }) => isNone && notes === '').map(({ theirs }) => theirs[0])).toEqual([])
  // Only parameters that become positional arguments have neither a counterpart nor a dash.
  const nameless = rows.filter(({ isNone, ours }) => !isNone && ours.length === 0)
  expect(nameless.filter(({ theirs }) => !theirs.every((one) => /^\w+\(\w+\)$/.test(one)))).toEqual([])
})

/** The exports of the package and the arguments of handlers of all types, taken from real calls. */
const things: Record<string, unknown> = {}

beforeAll(async () => {
  const operator = new kopf.Operator()
  const seen: object[] = []
  const note = (args: object) => void seen.push(args)
  operator.on.create('configmaps', { id: 'create' }, note)
  operator.on.event('configmaps', { id: 'event' }, note)
  operator.on.validate('configmaps', { id: 'validate' }, note)
  operator.on.startup({ id: 'startup' }, note)
  operator.daemon('configmaps', { id: 'daemon' }, note)
  operator.timer('configmaps', { id: 'timer', interval: 1 }, note)
  operator.reconcile('configmaps', { id: 'reconcile' }, note)
  for (const { id } of internalsOf(operator).registry.handlers) await testing.runHandler(operator, { id })
  expect(seen).toHaveLength(internalsOf(operator).registry.handlers.length)
  Object.assign(things, ...seen, kopf, webhooks, testing, { operator })
})

/** Exported types do not exist at run time; the compiler checks those that programs of the page use. */
const exported = ['src/index.ts', 'src/webhooks/index.ts', 'src/testing/index.ts']
  .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/export (?:type )?\{([^}]*)\}/g)])
  .flatMap(([, list]) => list!.split(','))
  .map((entry) =>
    entry
      .trim()
      .replace(/^type /, '')
      .replace(/^.* as /, ''),
  )

function isThere(token: string): boolean {
  if (exported.includes(token)) return true
  const [first = '', ...rest] = token.split('.')
  let value: unknown = Object.hasOwn(things, first) ? things[first] : undefined
  for (const key of rest) value = (value as Record<string, unknown> | undefined)?.[key]
  return value !== undefined || Object.hasOwn(things, token) || isInProgram(token)
}

/** Whether a program of the page contains the token as a text, as a field of an object, or after its owner. */
function isInProgram(token: string): boolean {
  const text = token.replaceAll('.', '\\.')
  return new RegExp(token.startsWith("'") || token.includes('.') ? `${text}(?!\\w)` : `[{,\\s]${text}[:,]`).test(
    programs,
  )
}

const absent = (rows: readonly Row[]) => rows.flatMap(({ ours }) => ours).filter((token) => !isThere(token))

test.each([...nameSections, 'Values', 'Parameters', 'Handlers', 'Arguments', 'KopfRunner'])(
  'the counterparts under "%s" exist',
  (title) => {
    expect(rowsOf(title)).not.toEqual([])
    expect(absent(rowsOf(title))).toEqual([])
  },
)

test('a counterpart that does not exist is found', () => {
  const made: Row = {
    theirs: [],
    ours: ['adoptt', 'recorder.inform', 'touchKeys', "'temporarily'"],
    isNone: false,
    notes: '',
  }
  expect(absent([made])).toEqual(made.ours)
})

describe('handler options', () => {
  const ours = new Map(rowsOf('Options').flatMap(({ theirs, ours: [name] }) => theirs.map((each) => [each, name])))
  const selecting = new Set(rowsOf('Resources').flatMap(({ theirs }) => theirs))
  const places: Readonly<Record<string, readonly string[]>> = {
    field: ['field='],
    subhandler: ['id='],
    register: ['id='],
  }

  test.each(Object.entries(recorded.decorators))(
    'the options of @kopf.on.%s have counterparts',
    (decorator, options) => {
      const elsewhere = [...selecting, ...(places[decorator] ?? [])]
      const named = options.map((name) => `${name}=`).filter((name) => !elsewhere.includes(name))
      const given = named.map((name) => ours.get(name)).filter((name) => name !== undefined)
      expect(given).toContain('param')
      for (const option of given) expect(refusal(decorator, option)).not.toMatch(/has no option/)
      expect(refusal(decorator, 'nonsense')).toMatch(/has no option/)
    },
  )
})

/** The error of registering a handler with this option. */
function refusal(decorator: string, option: string): string {
  const operator = new kopf.Operator()
  const options = { [option]: {} } as never
  const fn = () => {}
  const { on } = operator
  const declare = things['subhandler'] as kopf.ChangeArgs<object, object>['subhandler']
  const register: Readonly<Record<string, () => void>> = {
    field: () => on.field('pods', 'spec.nodeName', options, fn),
    index: () => operator.index('pods', options, fn),
    daemon: () => operator.daemon('pods', options, fn),
    timer: () => operator.timer('pods', options, fn),
    subhandler: () => declare('one', options, fn),
    register: () => declare('one', options, fn),
    startup: () => on.startup(options, fn),
    cleanup: () => on.cleanup(options, fn),
    login: () => on.login(options, () => undefined),
    probe: () => on.probe(options, fn),
  }
  try {
    ;(register[decorator] ?? (() => on[decorator as 'create']('pods', options, fn)))()
    return ''
  } catch (error) {
    return String(error)
  }
}

test('the counterparts of the settings can be set, and settings without one are refused', () => {
  const { settings } = new kopf.Operator()
  const rows = rowsOf('Settings')
  expect(rows).toHaveLength(recorded.settings.length)
  const groupOf = (path: string) => (settings as unknown as Record<string, object>)[path.split('.')[0]!] ?? {}
  const exists = (path: string) => (path.split('.')[1] ?? '') in groupOf(path)
  expect(rows.flatMap(({ ours }) => ours).filter((path) => !exists(path))).toEqual([])
  expect(exists('posting.levels')).toBe(false)
  const refused = rows.filter(({ ours }) => ours.length === 0).flatMap(({ theirs }) => theirs)
  expect(refused).toHaveLength(4)
  for (const path of refused) {
    const name = path.split('.')[1]!.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
    expect(() => Reflect.set(groupOf(path), name, 1)).toThrow('it does not exist here')
  }
})

describe('command line', () => {
  const program = createProgram()

  test.each(Object.entries(recorded.commands))('kopf %s accepts the options and variables of Kopf', (name, theirs) => {
    const command = program.commands.find((one) => one.name() === name)!
    const flags = command.options.flatMap(({ short, long }) => [short, long])
    expect(theirs.options.filter((flag) => !flags.includes(flag))).toEqual([])
    const lines: string[] = []
    command.configureOutput({ writeOut: (text) => void lines.push(text) }).outputHelp()
    const help = lines.join('')
    // A variable of older deployments, read separately and documented on the page only.
    const told = theirs.environment.filter((variable) => variable !== 'KOPF_RUN_NAMESPACE')
    expect(told.filter((variable) => !new RegExp(`\\b${variable}\\b`).test(help))).toEqual([])
  })

  test('the command-line options and environment variables on the page exist', () => {
    const flags = program.commands.flatMap((command) => command.options.map(({ long }) => long))
    const options = rowsOf('Command line').flatMap(({ ours }) => ours.filter((one) => one.startsWith('--')))
    expect(options.filter((option) => !flags.includes(option))).toEqual([])
    const variables = rowsOf('Environment variables')
    expect(variables.map(({ ours }) => ours)).toEqual(variables.map(({ theirs }) => theirs))
  })

  test('the page lists every command that Kopf does not have', () => {
    const added = program.commands.map((command) => command.name()).filter((name) => !(name in recorded.commands))
    expect(added.length).toBeGreaterThan(1)
    expect(added.filter((name) => !page.includes(`| [\`kopf ${name}\`](`))).toEqual([])
  })
})

test("each section of Kopf's manual has a page here, or a reason why not", () => {
  const text = readFileSync(join('docs', 'from-kopf', 'manual.md'), 'utf8')
  const rows = [...text.matchAll(/^\| (.+?) +\| (.+?) +\|$/gm)].filter(
    ([, section]) => !/^(?:-+|in Kopf's manual)$/.test(section!),
  )
  expect(rows.length).toBeGreaterThan(130)
  // test/docs.test.ts follows the links.
  expect(
    rows.filter(([, , here]) => !/^no counterpart: \w+.{20}|\]\([\w./-]+\.md/.test(here!)).map(([row]) => row),
  ).toEqual([])
})
