/** Failures that end `kopf run` and `kopf dev` with JSON logs: every line of standard error is JSON, and the exit code is that of the text format. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Folder, KopfCommand, RunCommand, stopCommands } from './run-support.ts'

const operator = (body: string) =>
  `import { configureLogging, Operator } from 'kopf'\nconst kopf = new Operator()\n${body}\nexport default kopf\n`

let folder: Folder
beforeAll(() => {
  folder = new Folder()
  folder.write({
    'operator.ts': operator("kopf.on.create('things', () => {})"),
    'broken.ts': 'const not fine = 2\n',
    'throws.ts': "throw new TypeError('no luck')\n",
    'nothing.ts': 'export const answer = 42\n',
    'startup.ts': operator("kopf.on.startup({ retries: 1 }, () => { throw new Error('no licence') })"),
    'configured.ts': operator("configureLogging({ format: 'json' })\nthrow new TypeError('no luck')"),
    'far.ts': operator("kopf.settings.networking.errorBackoffs = []\nkopf.on.create('things', () => {})"),
    // Runs long enough that a second signal is not taken for a repetition of the first.
    'endless.ts': operator(`kopf.on.cleanup(async ({ logger }) => {
  setTimeout(() => logger.info('still cleaning'), 700)
  setInterval(() => {}, 1000)
  await new Promise(() => {})
})`),
    'broken.kubeconfig': 'a: [',
    'nowhere.kubeconfig': JSON.stringify({
      'current-context': 'a',
      contexts: [{ name: 'a', context: { cluster: 'a' } }],
      clusters: [{ name: 'a', cluster: { server: 'http://127.0.0.1:1' } }],
    }),
  })
})
afterEach(stopCommands)
afterAll(() => folder.remove())

type Line = Readonly<Record<string, unknown>>

const linesOf = ({ stderr }: KopfCommand) =>
  stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)

/** The last line is the failure; the lines before it are those of the operator. */
async function fail(args: readonly string[], variables: Record<string, string> = {}): Promise<[number | string, Line]> {
  const one = new KopfCommand(folder, args, variables)
  const exit = await one.exit
  expect(one.stdout).toBe('')
  return [exit, linesOf(one).at(-1)!]
}

const asFailure = (message: unknown) => ({
  message,
  timestamp: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+\+00:00$/),
  severity: 'fatal',
})

describe('failures with JSON logs', { timeout: 30_000 }, () => {
  test.each<[string, string[], unknown]>([
    ['a missing file', ['missing.ts'], expect.stringMatching(/^Cannot load "missing.ts": there is no such file/)],
    [
      'a file that does not compile',
      ['broken.ts'],
      'Cannot compile broken.ts:1:11: Expected ";" but found "fine"\n  1 | const not fine = 2\n    |           ^^^^',
    ],
    [
      'a file that throws',
      ['throws.ts'],
      expect.stringMatching(/^Cannot load "throws.ts": TypeError: no luck\n {2}at /),
    ],
    ['a file without an operator', ['nothing.ts'], expect.stringMatching(/^Nothing to run in "nothing.ts"/)],
    [
      'a missing kubeconfig',
      ['operator.ts', '-A', '--kubeconfig', 'missing.kubeconfig'],
      expect.stringMatching(/missing\.kubeconfig.*there is no such file/),
    ],
    [
      'a kubeconfig that is not YAML',
      ['operator.ts', '-A', '--kubeconfig', 'broken.kubeconfig'],
      expect.stringMatching(/not valid YAML/),
    ],
    [
      'a missing file of objects',
      ['operator.ts', '--embedded', '--apply', 'missing.yaml'],
      'Cannot read "missing.yaml": there is no such file or folder',
    ],
  ])('kopf run logs one JSON line for %s and exits with 1', async (_, args, message) => {
    const one = new RunCommand(folder, [...args, '--log-format=json'])
    expect([await one.exit, one.stdout]).toEqual([1, ''])
    expect(linesOf(one).filter(({ severity }) => severity === 'fatal')).toEqual([asFailure(message)])
  })

  test('kopf run logs JSON lines for a cluster that cannot be reached, and exits with 1', async () => {
    const args = ['run', 'far.ts', '-A', '--kubeconfig', 'nowhere.kubeconfig', '--log-format=json']
    expect(await fail(args)).toEqual([
      1,
      asFailure(expect.stringMatching(/127\.0\.0\.1:1.*\n.*--kubeconfig or --context/s)),
    ])
  })

  test('kopf run logs JSON lines for a failed startup handler, and exits with 1', async () => {
    const args = ['run', 'startup.ts', '-A', '--kubeconfig', 'nowhere.kubeconfig', '--log-format', 'json']
    expect(await fail(args)).toEqual([1, asFailure(expect.stringContaining('no licence'))])
  })

  test('the environment variable KOPF_RUN_LOG_FORMAT makes failures JSON lines, also those of usage', async () => {
    const variables = { KOPF_RUN_LOG_FORMAT: 'JSON' }
    expect(await fail(['run', 'nothing.ts'], variables)).toEqual([
      1,
      asFailure(expect.stringContaining('Nothing to run')),
    ])
    expect(await fail(['run', 'nothing.ts', '--nonsense'], variables)).toEqual([
      2,
      asFailure("unknown option '--nonsense' (see --help)"),
    ])
    expect(await fail(['run', 'nothing.ts'], { ...variables, KOPF_RUN_STANDALONE: 'perhaps' })).toEqual([
      2,
      asFailure('environment variable KOPF_RUN_STANDALONE is "perhaps". Expected true or false. (see --help)'),
    ])
  })

  test('the option --log-format takes precedence over the environment for failures, too', async () => {
    const one = new RunCommand(folder, ['nothing.ts', '--log-format', 'plain'], { KOPF_RUN_LOG_FORMAT: 'json' })
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/^kopf: Nothing to run/)
  })

  test('configureLogging in the operator file makes later failures JSON lines', async () => {
    expect(await fail(['run', 'configured.ts'])).toEqual([1, asFailure(expect.stringContaining('TypeError: no luck'))])
  })

  test.each<[string[], string]>([
    [['run', '--log-format=json'], 'nothing to run. Name a file, or a module with --module. (see --help)'],
    [
      ['run', 'operator.ts', '--log-format=json', '--namespce', 'x'],
      "unknown option '--namespce' (Did you mean --namespace?)",
    ],
    [
      ['run', 'operator.ts', '--log-format=json', '-A', '-n', 'one'],
      "options '--namespace' and '--all-namespaces' cannot be used together. (see --help)",
    ],
    [
      ['dev', 'operator.ts', '--log-format=json', '--crds'],
      "option '--crds' cannot be used without '--cluster'. (see --help)",
    ],
    [
      ['freeze', '--log-format=json', '--all-namespaces'],
      "required option '-P, --peering <name>' not specified (see --help)",
    ],
  ])('kopf %j logs one JSON line and exits with 2', async (args, message) => {
    expect(await fail(args)).toEqual([2, asFailure(message)])
  })

  test.each<[string[], RegExp]>([
    [['missing.ts'], /^Cannot load "missing.ts"/],
    [['operator.ts', '--cluster', '--kubeconfig', 'missing.kubeconfig'], /missing\.kubeconfig/],
  ])('kopf dev %j logs one JSON line and exits with 1', async (args, message) => {
    expect(await fail(['dev', ...args, '--log-format=json'])).toEqual([1, asFailure(expect.stringMatching(message))])
  })

  test('kopf run logs a JSON line when a second signal ends it', async () => {
    const one = new RunCommand(folder, ['endless.ts', '--embedded', '-A', '--log-format=json'])
    await one.until(/Stop it with Ctrl-C/)
    one.send('SIGTERM')
    await one.until(/still cleaning/)
    one.send('SIGINT')
    expect(await one.exit).toBe(1)
    expect(linesOf(one).at(-1)).toEqual(asFailure(expect.stringContaining('second time')))
  })
})
