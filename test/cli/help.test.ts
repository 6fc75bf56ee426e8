/** The help texts of the command, and its messages for mistyped arguments. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { versionInfo } from '../../src/server/discovery.ts'
import { kubernetesVersion } from '../../src/server/version.ts'
import { packageVersion } from '../../src/util/process/package-files.ts'

interface Said {
  readonly out: string
  readonly error: string
  readonly exitCode: number
}

/** Runs the command in this process, as on a terminal of that width. */
async function say(args: readonly string[], columns: number = 80, hasColours: boolean = false): Promise<Said> {
  let out = ''
  let error = ''
  const program = createProgram()
  for (const command of [program, ...program.commands] as Command[]) {
    command.configureOutput({
      writeOut: (text) => {
        out += text
      },
      writeErr: (text) => {
        error += text
      },
      getOutHelpWidth: () => columns,
      getErrHelpWidth: () => columns,
      getOutHasColors: () => hasColours,
      getErrHasColors: () => hasColours,
    })
  }
  const exitCode = await program.parseAsync(args, { from: 'user' }).then(
    () => 0,
    (failure: { exitCode: number }) => failure.exitCode,
  )
  return { out, error, exitCode }
}

const commands = createProgram().commands.map((command) => command.name())

describe('help', () => {
  test('kopf --help lists all commands in groups, with examples', async () => {
    const { out, exitCode } = await say(['--help'])
    expect(exitCode).toBe(0)
    for (const name of commands) expect(out).toMatch(new RegExp(`^  ${name} +\\S`, 'm'))
    for (const heading of ['Operators:', 'Objects:', 'Tools:', 'Examples:']) expect(out).toContain(`\n${heading}\n`)
  })

  test.each(commands)('the help of kopf %s fits into 80 and 120 columns', async (name) => {
    for (const columns of [80, 120]) {
      const { out, exitCode } = await say([name, '--help'], columns)
      expect(exitCode).toBe(0)
      expect(out.split('\n').filter((line) => line.length > columns)).toEqual([])
      expect(out).toContain(`Usage: kopf ${name}`)
    }
  })

  test('kopf help run prints the same as kopf run --help', async () => {
    expect((await say(['help', 'run'])).out).toBe((await say(['run', '--help'])).out)
  })

  test('the help of kopf run lists all environment variables', async () => {
    const { out } = await say(['run', '--help'])
    for (const name of [
      ...['MODULES', 'NAMESPACES', 'CLUSTERWIDE', 'STANDALONE', 'DEV', 'LIVENESS_ENDPOINT'],
      ...['VERBOSE', 'DEBUG', 'QUIET', 'LOG_FORMAT', 'LOG_REFKEY', 'LOG_PREFIX'],
    ]) {
      expect(out).toMatch(new RegExp(`^  KOPF_RUN_${name} +(as|true or false for) --`, 'm'))
    }
    expect(out).toMatch(/^ {2}NO_COLOR +with any value: no colours at a terminal$/m)
    expect(out).toMatch(/^ {2}FORCE_COLOR +0: no colours/m)
  })

  test('kopf --version prints the version of the package alone in the first line, then those of Node and Kubernetes', async () => {
    const out = `${packageVersion()}\nNode ${process.versions.node}\nKubernetes ${kubernetesVersion} (embedded server)\n`
    expect(await say(['--version'])).toEqual({ out, error: '', exitCode: 0 })
    expect(versionInfo()['gitVersion']).toBe(`v${kubernetesVersion}+kopf`)
  })

  test.each(['', ...commands])('the headings in the help of kopf %s are bold at a terminal', async (name) => {
    const { out } = await say([...(name === '' ? [] : [name]), '--help'], 80, true)
    const plain = (await say([...(name === '' ? [] : [name]), '--help'])).out
    const headings = plain.match(/^[A-Z][^\n]*:$|^Usage:/gm)!
    expect(headings.length).toBeGreaterThan(1)
    for (const heading of headings) expect(out).toContain(`\u001b[1m${heading}\u001b[22m`)
    expect(plain).not.toContain('\u001b')
  })

  test.each(commands)('the help of kopf %s shows each default in one form and choices without quotes', async (name) => {
    const { out } = await say([name, '--help'], 1000)
    expect(out).not.toMatch(/\(choices|\(default[^:]|default: "/)
  })
})

describe('mistyped arguments', () => {
  test.each<[string[], string]>([
    [['rnu'], "error: unknown command 'rnu'\n(Did you mean run?)\n"],
    [['explian', 'a', 'b'], "error: unknown command 'explian'\n(Did you mean explain?)\n"],
    [['run', 'a.ts', '--namespce', 'x'], "error: unknown option '--namespce'\n(Did you mean --namespace?)\n"],
    [['dev', 'a.ts', '--aply', 'x'], "error: unknown option '--aply'\n(Did you mean --apply?)\n"],
    [['--vresion'], "error: unknown option '--vresion'\n(Did you mean --version?)\n"],
    [
      ['run', 'a.ts', '--log-format', 'jsn'],
      "error: option '--log-format <format>' argument 'jsn' is invalid. Expected one of short, full, plain, json. Did you mean json?\n",
    ],
    [
      ['completion', 'zs'],
      "error: command-argument value 'zs' is invalid for argument 'shell'. Expected one of bash, zsh, fish. Did you mean zsh?\n",
    ],
    [['explain', 'pods'], 'error: nothing to explain. Name an object, as resource/name.\n(see --help)\n'],
    [['release'], "error: missing required argument 'resource'\n(see --help)\n"],
    [['dev'], "error: missing required argument 'files'\n(see --help)\n"],
    [
      ['dev', 'a.ts', '--context', 'x'],
      "error: option '--context' cannot be used without '--cluster'.\n(see --help)\n",
    ],
    [['dev', 'a.ts', '--crds'], "error: option '--crds' cannot be used without '--cluster'.\n(see --help)\n"],
    [
      ['dev', 'a.ts', '--cluster', '--data-dir', 'data'],
      "error: option '--data-dir' cannot be used with '--cluster'.\n(see --help)\n",
    ],
    [
      ['dev', 'a.ts', '--cluster', '--port', '1'],
      "error: option '--port' cannot be used with '--cluster'.\n(see --help)\n",
    ],
    [
      ['dev', 'a.ts', '--cluster', '--controllers', 'all'],
      "error: option '--controllers' cannot be used with '--cluster'.\n(see --help)\n",
    ],
    [
      ['server', '--controllers', 'pods,deploymnts'],
      'error: option \'--controllers <names>\' argument \'pods,deploymnts\' is invalid. Cannot start the controller "deploymnts": there is none of that name; there are "all" of them, cronjobs, daemonsets, deployments, jobs, persistentvolumeclaims, pods, replicasets, serviceaccounts, services, statefulsets, and with a minus before its name one is left out.\n(see --help)\n',
    ],
    [['manifests'], 'error: no operator. Name a file, or a module with --module.\n(see --help)\n'],
    [
      ['manifests', 'a.ts', '--image', 'my image'],
      "error: option '--image <image>' argument 'my image' is invalid. Expected an image such as registry.example.com/databases:1.2.0.\n(see --help)\n",
    ],
    [
      ['server', '--authorization', 'rbak'],
      "error: option '--authorization <mode>' argument 'rbak' is invalid. Expected one of always-allow, rbac. Did you mean rbac?\n",
    ],
    [
      ['manifests', 'a.ts', '--replicas', 'two'],
      "error: option '--replicas <number>' argument 'two' is invalid. Expected a number from 1 to 9999.\n(see --help)\n",
    ],
    [
      ['manifests', 'a.ts', '--grant', 'configmaps'],
      "error: option '--grant <rule>' argument 'configmaps' is invalid: expected verbs, a resource, and perhaps names, such as \"get,list configmaps\".\n(see --help)\n",
    ],
    [
      ['manifests', 'a.ts', '--grant', 'get,wacth configmaps'],
      "error: option '--grant <rule>' argument 'get,wacth configmaps' is invalid: \"wacth\" is not a verb; expected one of get, list, watch, create, update, patch, delete, deletecollection, *.\n(see --help)\n",
    ],
    [
      ['manifests', 'a.ts', '--grant', 'create secrets mine'],
      "error: option '--grant <rule>' argument 'create secrets mine' is invalid: Kubernetes cannot restrict \"create\" to names; grant it in a separate rule.\n(see --help)\n",
    ],
    [['release', 'pods'], 'error: nothing to release. Name an object, or all of them with --all.\n(see --help)\n'],
    [['release', 'pods', 'a', '--all'], "error: a name and option '--all' cannot be used together.\n(see --help)\n"],
    [
      ['release', 'pods', 'a', '-A'],
      "error: option '--all-namespaces' cannot be used without '--all'.\n(see --help)\n",
    ],
    [
      ['release', 'pods', '--all', '-A', '-n', 'x'],
      "error: options '--namespace' and '--all-namespaces' cannot be used together.\n(see --help)\n",
    ],
  ])('the arguments %j are refused with a hint', async (args, error) => {
    const said = await say(args)
    expect({ ...said, exitCode: said.exitCode === 0 ? 0 : 2 }).toEqual({ out: '', error, exitCode: 2 })
  })
})

describe('docs/reference/cli.md', () => {
  const page = readFileSync('docs/reference/cli.md', 'utf8')

  test.each(commands)('docs/reference/cli.md lists all options of kopf %s', (name) => {
    const section = page.split(/^## /m).find((one) => one.startsWith(`kopf ${name}\n`))!
    const command = createProgram().commands.find((one) => one.name() === name)!
    const isAbout = (long: string | undefined) => !/^--(no-)?(log-|verbose|debug|quiet)/.test(long!) || name === 'run'
    for (const { long } of command.options.filter((one) => isAbout(one.long))) expect(section).toContain(long)
  })

  test('docs/reference/cli.md lists all environment variables of kopf run', async () => {
    const { out } = await say(['run', '--help'])
    const variables = out.match(/^ {2}KOPF_RUN_\w+/gm)!.map((line) => line.trim())
    expect(variables.length).toBeGreaterThan(10)
    for (const variable of variables) expect(page).toContain(`\`${variable}\``)
  })
})
