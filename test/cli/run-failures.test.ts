/** Failures of `kopf run`: one message without a stack trace of the framework, exit code 1 or 2. */
import { readdirSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Folder, RunCommand, stopCommands } from './run-support.ts'

let folder: Folder
beforeAll(() => {
  folder = new Folder()
  folder.write({
    'operator.ts':
      "import { Operator } from 'kopf'\nconst kopf = new Operator()\nkopf.on.create('things', () => {})\nexport default kopf\n",
    'broken.ts': 'const fine: number = 1\n\tconst not fine = 2\n',
    'broken.mjs': 'const fine = 1\nconst not fine = 2\n',
    'deeper.ts': "import './broken.ts'\n",
    'throws.ts':
      "interface Thing { name: string }\n\nfunction fail(thing: Thing): never {\n  throw new TypeError('no ' + thing.name)\n}\nfail({ name: 'luck' })\n",
    'throws-text.ts': "throw 'a text'\n",
    'nothing.ts': 'export const answer: number = 42\n',
    'named.ts':
      "import { Operator } from 'kopf'\nexport const mine = new Operator()\nmine.on.create('things', () => {})\n",
    'unexported.ts':
      "import { Operator } from 'kopf'\nconst databases: Operator = new Operator()\ndatabases.on.create('things', () => {})\n",
    'unexported-two.ts':
      "import { Operator } from 'kopf'\nconst one = new Operator()\nconst two = new Operator()\none.on.create('a', () => {})\ntwo.on.create('b', () => {})\n",
    'unexported-empty.ts': "import { Operator } from 'kopf'\nconst one = new Operator()\n",
    'unexported-elsewhere.ts': "import './unexported.ts'\n",
    'unexported-beside.ts': "import * as kopf from 'kopf'\nimport './unexported.ts'\nkopf.on.create('a', () => {})\n",
    'bare.ts': "import { Operator } from 'kopf'\nexport default new Operator()\n",
    'needs.ts': "import missing from 'kopf-no-such-package'\nmissing()\n",
    'needs.mjs': "import missing from 'kopf-no-such-package'\nmissing()\n",
    'local.ts': "import { a } from './no-such-file.ts'\na()\n",
    'operator.py': 'import kopf\n',
    'folder/operator.ts': '',
    'broken.yaml': 'a: [',
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

async function fail(args: readonly string[], variables?: Record<string, string>): Promise<[number | string, string]> {
  const one = new RunCommand(folder, args, variables)
  const exit = await one.exit
  expect(one.stdout).toBe('')
  expect(readdirSync(folder.temporary).filter((name) => name.startsWith('kopf-'))).toEqual([])
  return [exit, one.stderr.replaceAll(folder.path, 'FOLDER')]
}

describe('exit code 1', { timeout: 30_000 }, () => {
  test.each<[string, string[], string]>([
    [
      'a file that does not exist',
      ['missing.ts'],
      'Cannot load "missing.ts": there is no such file or folder; check its name, or the folder you are in',
    ],
    ['a folder', ['folder'], 'Cannot load "folder": it is not a file; name a file in it'],
    [
      'a file of another language',
      ['operator.py'],
      'Cannot load "operator.py": expected a file that ends in .ts or .js, or .mts, .cts, .mjs …',
    ],
    [
      'a file that does not compile',
      ['broken.ts'],
      'Cannot compile broken.ts:2:12: Expected ";" but found "fine"\n  2 | \tconst not fine = 2\n    | \t          ^^^^',
    ],
    [
      'an imported file that does not compile',
      ['deeper.ts'],
      'Cannot compile broken.ts:2:12: Expected ";" but found "fine"\n  2 | \tconst not fine = 2\n    | \t          ^^^^',
    ],
    [
      'JavaScript that does not compile',
      ['broken.mjs'],
      'Cannot compile broken.mjs:2:11: Expected ";" but found "fine"\n  2 | const not fine = 2\n    |           ^^^^',
    ],
    [
      'a file that throws, with the stack of the user',
      ['throws.ts'],
      'Cannot load "throws.ts": TypeError: no luck\n  at fail (FOLDER/throws.ts:4:9)\n  at <anonymous> (FOLDER/throws.ts:6:1)',
    ],
    [
      'a file that throws a text',
      ['throws-text.ts'],
      'Cannot load "throws-text.ts": it threw a text, which is not an Error',
    ],
    [
      'a file that registers nothing',
      ['nothing.ts'],
      'Nothing to run in "nothing.ts": it has no operator; write "const kopf = new Operator()", "kopf.on.create(\'kopfexamples\', ({ logger }) => { … })" and "export default kopf"',
    ],
    [
      'an operator that is not exported by default',
      ['named.ts'],
      'Cannot run "named.ts": its operator "mine" is exported by name, not by default; add "export default mine"',
    ],
    [
      'an operator that is not exported',
      ['unexported.ts'],
      'Cannot run "unexported.ts": it creates an operator, but does not export it; add "export default databases"',
    ],
    [
      'an operator that is not exported, beside one that is',
      ['operator.ts', 'unexported.ts'],
      'Cannot run "unexported.ts": it creates an operator, but does not export it; add "export default databases"',
    ],
    [
      'an operator that is not exported, beside the default operator',
      ['unexported-beside.ts'],
      'Cannot run "unexported-beside.ts": it creates an operator, but does not export it; add "export default kopf"',
    ],
    [
      'an operator that is not exported by an imported file',
      ['unexported-elsewhere.ts'],
      'Cannot run "unexported-elsewhere.ts": it creates an operator, but does not export it; add "export default kopf"',
    ],
    [
      'two operators that are not exported',
      ['unexported-two.ts'],
      'Cannot run "unexported-two.ts": it creates 2 operators with handlers, but exports none of them; add "export default one" and "one.use(two)", to run them as one',
    ],
    [
      'an operator without handlers that is not exported',
      ['unexported-empty.ts'],
      'Nothing to run in "unexported-empty.ts": it has no operator; write "const kopf = new Operator()", "kopf.on.create(\'kopfexamples\', ({ logger }) => { … })" and "export default kopf"',
    ],
    [
      'an operator without handlers',
      ['bare.ts'],
      'Nothing to run in "bare.ts": its operator has no handlers; register one: kopf.on.create(\'kopfexamples\', ({ logger }) => { … })',
    ],
    [
      'a package that is not installed',
      ['needs.ts'],
      'Cannot compile needs.ts:1:21: Cannot find the package "kopf-no-such-package": install it with "npm install kopf-no-such-package"\n' +
        "  1 | import missing from 'kopf-no-such-package'\n    |                     ^^^^^^^^^^^^^^^^^^^^^^",
    ],
    [
      'a package that is not installed, in plain JavaScript',
      ['needs.mjs'],
      'Cannot load "needs.mjs": Cannot find package \'kopf-no-such-package\' imported from FOLDER/needs.mjs; check the import, or install the package with "npm install"',
    ],
    [
      'an imported file that does not exist',
      ['local.ts'],
      'Cannot compile local.ts:1:19: Could not resolve "./no-such-file.ts"\n  1 | import { a } from \'./no-such-file.ts\'\n    |                   ^^^^^^^^^^^^^^^^^^^',
    ],
    [
      'a module that does not exist',
      ['-m', 'kopf-no-such-module'],
      'Cannot load the module "kopf-no-such-module": Cannot find the package "kopf-no-such-module": install it with "npm install kopf-no-such-module", or write "./" before the path of a file',
    ],
    [
      'a file of objects that does not exist',
      ['operator.ts', '--embedded', '--apply', 'missing.yaml'],
      'Cannot read "missing.yaml": there is no such file or folder',
    ],
  ])('kopf run exits with 1 for %s', async (_, args, message) => {
    expect(await fail(args)).toEqual([1, `kopf: ${message}\n`])
  })

  test.each<[string, string[], RegExp]>([
    [
      'a kubeconfig that does not exist',
      ['operator.ts', '-A', '--kubeconfig', 'missing.kubeconfig'],
      /missing\.kubeconfig.*there is no such file/,
    ],
    ['a kubeconfig that is not YAML', ['operator.ts', '-A', '--kubeconfig', 'broken.kubeconfig'], /not valid YAML/],
    [
      'a context that does not exist',
      ['operator.ts', '-A', '--kubeconfig', 'nowhere.kubeconfig', '--context', 'other'],
      /there is no context "other" in it; it has ".+"/,
    ],
    [
      'a context without a kubeconfig',
      ['operator.ts', '-A', '--context', 'other'],
      /Cannot use the context "other": there is no kubeconfig/,
    ],
    ['no kubeconfig', ['operator.ts', '-A', '-q'], /kubeconfig.*--embedded/s],
  ])('kopf run exits with 1 for %s', async (_, args, message) => {
    const [exit, stderr] = await fail(args)
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(exit).toBe(1)
  })
})

describe('exit code 2', { timeout: 30_000 }, () => {
  test.each<[string[], string]>([
    [[], 'error: nothing to run. Name a file, or a module with --module.'],
    [
      ['operator.ts', '-A', '-n', 'one'],
      "error: options '--namespace' and '--all-namespaces' cannot be used together.",
    ],
    [['operator.ts', '--apply', 'a.yaml'], "error: option '--apply' cannot be used without '--embedded'."],
    [['operator.ts', '--port', '8001'], "error: option '--port' cannot be used without '--embedded'."],
    [['operator.ts', '--controllers', 'all'], "error: option '--controllers' cannot be used without '--embedded'."],
    [['operator.ts', '--embedded', '--context', 'a'], "error: option '--context' cannot be used with '--embedded'."],
    [
      ['operator.ts', '--log-format', 'xml'],
      "error: option '--log-format <format>' argument 'xml' is invalid. Expected one of short, full, plain, json.",
    ],
    [
      ['operator.ts', '--liveness', 'https://0.0.0.0:8080/healthz'],
      "error: option '--liveness <url>' argument 'https://0.0.0.0:8080/healthz' is invalid: only http is served; expected an address such as http://0.0.0.0:8080/healthz.",
    ],
    [
      ['operator.ts', '-L', 'http://:8080/readyz'],
      "error: option '--liveness <url>' argument 'http://:8080/readyz' is invalid: /readyz tells whether the operator is ready; choose another path.",
    ],
    [['operator.ts', '--nonsense'], "error: unknown option '--nonsense'"],
  ])('kopf run %j exits with 2', async (args, message) => {
    expect(await fail(args)).toEqual([2, `${message}\n(see --help)\n`])
  })

  test.each<[Record<string, string>, string]>([
    [
      { KOPF_RUN_NAMESPACES: 'a b', KOPF_RUN_CLUSTERWIDE: 'true' },
      "error: options '--namespace' and '--all-namespaces' cannot be used together.",
    ],
    [
      { KOPF_RUN_NAMESPACE: 'a', KOPF_RUN_CLUSTERWIDE: 'true' },
      "error: options '--namespace' and '--all-namespaces' cannot be used together.",
    ],
    [
      { KOPF_RUN_LOG_FORMAT: 'xml' },
      'error: environment variable KOPF_RUN_LOG_FORMAT is "xml". Expected one of short, full, plain, json.',
    ],
    [
      { KOPF_RUN_STANDALONE: 'perhaps' },
      'error: environment variable KOPF_RUN_STANDALONE is "perhaps". Expected true or false.',
    ],
    [
      { KOPF_RUN_LIVENESS_ENDPOINT: '8080' },
      "error: option '--liveness <url>' argument '8080' is invalid: expected an address such as http://0.0.0.0:8080/healthz.",
    ],
  ])('kopf run exits with 2 for the environment variables %j', async (variables, message) => {
    expect(await fail(['operator.ts'], variables)).toEqual([2, `${message}\n(see --help)\n`])
  })
})
