/** Completion scripts, run in their shells with an embedded server: always in bash, in zsh and fish if they are installed. */
import { spawn } from 'node:child_process'
import { accessSync, chmodSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { toBash } from '../../src/cli/completion/bash.ts'
import { toFish } from '../../src/cli/completion/fish.ts'
import { readTree } from '../../src/cli/completion/model.ts'
import { toZsh } from '../../src/cli/completion/zsh.ts'
import { createProgram } from '../../src/cli/program.ts'
import { toKubeconfig } from '../../src/server/kubeconfig.ts'
import { Api } from '../support/api.ts'
import { expectStatus } from '../support/expectations.ts'
import { Folder, KopfCommand } from './run-support.ts'
import { OnTerminal, stopTerminals } from './terminal-support.ts'

const model = readTree(createProgram())
let folder: Folder
let server: RunningServer

beforeAll(async () => {
  folder = new Folder()
  server = await startServer()
  const api = new Api({ url: server.url, caPem: server.ca!, credentials: { token: server.token! } })
  for (const name of ['team-a', 'team-b'])
    expectStatus(await api.post('/api/v1/namespaces', { metadata: { name } }), 201)
  const place = '/api/v1/namespaces/team-a/configmaps'
  for (const name of ['orders', 'other']) expectStatus(await api.post(place, { metadata: { name } }), 201)
  api.close()
  const config = JSON.parse(toKubeconfig(server))
  const [context] = config.contexts
  const named = (name: string) => ({ ...context, name })
  // Names as those of EKS, with a space, and with shell code that must not be run.
  const contexts = [context, named('arn:aws:eks:cluster/dev'), named('with space'), named('$(touch hacked)')]
  folder.write({
    'operator.ts': '',
    'objects.yaml': '',
    'with space.ts': '',
    'data/one': '',
    kubeconfig: JSON.stringify({ ...config, contexts }),
    'unreachable.kubeconfig': toKubeconfig({ ...server, url: 'https://127.0.0.1:1' } as RunningServer),
    'kopf.bash': toBash(model),
    _kopf: toZsh(model),
    'kopf.fish': toFish(model),
    // The kopf of the project, as npm installs it.
    'node_modules/.bin/kopf': `#!/bin/sh\nexec '${process.execPath}' ${folder.command.join(' ')} "$@"\n`,
    'sub/folder/operator.ts': '',
  })
  chmodSync(join(folder.path, 'node_modules/.bin/kopf'), 0o755)
})
afterEach(stopTerminals)
afterAll(async () => {
  await server.stop()
  folder.remove()
})

function isThere(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((place) => {
    try {
      accessSync(join(place, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** The output of a shell without input. Asynchronous, since the shell asks the server in this process. */
async function run(shell: string, args: readonly string[], cwd: string = folder.path): Promise<string> {
  const env = { ...process.env, KUBECONFIG: join(folder.path, 'kubeconfig'), HOME: folder.path }
  const child = spawn(shell, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  for await (const part of child.stdout.setEncoding('utf8')) output += part
  return output
}

/** The completions of each line at its end, as readline gets them. */
async function completionsInBash(lines: readonly string[], cwd: string = folder.path): Promise<string[][]> {
  const script = [
    `source '${folder.path}/kopf.bash'`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is bash.
    'ask() { COMP_LINE="$1"; COMP_POINT=${#1}; _kopf; (IFS=,; echo "${COMPREPLY[*]}"); }',
    ...lines.map((line) => `ask '${line}'`),
  ].join('\n')
  const output = await run('bash', ['--norc', '-c', script], cwd)
  return output
    .split('\n')
    .slice(0, lines.length)
    .map((line) => line.split(',').filter((word) => word !== ''))
}

describe('bash completion', { timeout: 60_000 }, () => {
  test('the bash completion completes commands, options, values of options, and files', async () => {
    const cases: ReadonlyArray<readonly [string, readonly string[]]> = [
      ['kopf re', ['resume', 'release']],
      ['kopf run --name', ['--namespace']],
      ['kopf run --log-format ', ['short', 'full', 'plain', 'json']],
      ['kopf run --log-format=j', ['json']],
      ['kopf run -n x --log-fo', ['--log-format']],
      ['kopf run op', ['operator.ts']],
      ['kopf run with\\ ', ['with space.ts']],
      ['kopf dev operator.ts --apply ob', ['objects.yaml']],
      ['kopf dev operator.ts --data-dir da', ['data']],
      ['kopf manifests operator.ts --inst', ['--install-namespace']],
      ['kopf manifests operator.ts --crd ob', ['objects.yaml']],
      ['kopf crd mi', ['migrate']],
      ['kopf crd --context x --check-c', ['--check-cluster']],
      ['kopf crd migrate --ra', ['--rate']],
      ['kopf crd migrate operator.ts --check', []],
      ['kopf crd migrate op', ['operator.ts']],
      ['kopf explain kopfexamples a --out', ['--output']],
      ['kopf explain kopfexamples a -o j', ['json']],
      ['kopf server --controllers dep', ['deployments']],
      ['kopf server --authorization ', ['always-allow', 'rbac']],
      ['kopf completion ', ['bash', 'zsh', 'fish']],
      ['kopf help exp', ['explain']],
      ['kopf --ver', ['--version']],
      ['kopf server ', []],
      ['kopf nonsense ', []],
      ['npx kopf ru', ['run']],
      ['npx kopf run --log-format ', ['short', 'full', 'plain', 'json']],
      ['npx other ', []],
    ]
    const answers = await completionsInBash(cases.map(([line]) => line))
    expect(answers).toEqual(cases.map(([, expected]) => expected))
  })

  test('the bash completion completes contexts, namespaces, resources and objects of the cluster', async () => {
    const cases: ReadonlyArray<readonly [string, readonly string[]]> = [
      ['kopf run --context ', ['\\$\\(touch\\ hacked\\)', 'arn:aws:eks:cluster/dev', 'kopf', 'with\\ space']],
      ['kopf run --context w', ['with\\ space']],
      // Readline replaces only the part behind the last colon.
      ['kopf run --context arn:aws:e', ['eks:cluster/dev']],
      ['kopf run --kubeconfig unreachable.kubeconfig --context=k', ['kopf']],
      ['kopf run operator.ts -n team', ['team-a', 'team-b']],
      ['kopf manifests operator.ts --install-namespace team-b', ['team-b']],
      ['kopf crd migrate --context w', ['with\\ space']],
      ['kopf explain configm', ['configmaps']],
      ['kopf explain deployments', ['deployments.apps']],
      ['kopf explain configmaps -n team-a o', ['orders', 'other']],
      ['kopf release --namespace=team-a configmaps or', ['orders']],
      ['npx kopf explain configmaps -n team-a or', ['orders']],
    ]
    expect(await completionsInBash(cases.map(([line]) => line))).toEqual(cases.map(([, expected]) => expected))
    // The kopf of the project is found from its folders, too.
    expect(await completionsInBash(['kopf run -n team-a'], join(folder.path, 'sub/folder'))).toEqual([['team-a']])
    expect(() => accessSync(join(folder.path, 'hacked'))).toThrow()
  })
})

describe('kopf __complete', { timeout: 60_000 }, () => {
  test.each([
    ['a cluster that cannot be reached', ['run', '--kubeconfig', 'unreachable.kubeconfig', '-n', '']],
    ['a kubeconfig that does not exist', ['run', '--kubeconfig', 'missing', '--context', '']],
    ['a resource that does not exist', ['explain', 'nonsense', '']],
    ['a value that the cluster does not know', ['run', '--peering', '']],
    ['an unknown command', ['nonsense', '--context', '']],
    ['no words', []],
  ])('kopf __complete prints nothing and succeeds for %s', async (_, words) => {
    const one = new KopfCommand(folder, ['__complete', '--', ...words], { KUBECONFIG: join(folder.path, 'kubeconfig') })
    expect([await one.exit, one.stdout, one.stderr]).toEqual([0, '', ''])
  })

  test('kopf __complete gives up after two seconds if the cluster does not respond', async () => {
    const fault = server.api.faults.add({ effect: { type: 'delay', delayMs: 60_000 } })
    const one = new KopfCommand(folder, ['__complete', '--', 'run', '-n', ''], {
      KUBECONFIG: join(folder.path, 'kubeconfig'),
    })
    expect([await one.exit, one.stdout, one.stderr]).toEqual([0, '', ''])
    fault.remove()
  })
})

describe('completion scripts', { timeout: 60_000 }, () => {
  test('the completion scripts of all shells contain every option of every command', () => {
    const [bash, zsh, fish] = [toBash(model), toZsh(model), toFish(model)]
    const all = model.commands.flatMap((command) => [command, ...command.subcommands])
    const flags = all.flatMap(({ options }) => options.flatMap((option) => option.flags))
    expect(flags.length).toBeGreaterThan(50)
    for (const flag of flags) {
      expect(bash).toContain(flag)
      expect(zsh).toContain(flag)
      expect(fish).toContain(flag.replace(/^--/, '-l ').replace(/^-(?=\w$)/, '-s '))
    }
  })

  test.runIf(isThere('zsh'))(
    'the zsh completion completes commands, values of options, and names of the cluster',
    async () => {
      const zsh = new OnTerminal(folder, [], {
        program: 'zsh -f -i',
        variables: { KUBECONFIG: 'kubeconfig', PS1: '%% ' },
      })
      zsh.type(
        `fpath=(${folder.path} $fpath); autoload -Uz compinit; compinit -u -D; setopt no_always_last_prompt; echo Rea""dy\r`,
      )
      await zsh.until(/Ready/)
      for (const [line, shown] of [
        ['kopf expla\t', /kopf explain/],
        ['kopf run --log-format js\t', /--log-format json/],
        ['kopf explain configm\t', /explain configmaps/],
        ['kopf explain configmaps -n team-a ord\t', /-n team-a orders/],
        ['kopf run --namespace=team\t\t', /team-a\s+team-b/],
        ['kopf crd migrate --context wi\t', /crd migrate --context with\\ space/],
        ['kopf run --context wi\t', /--context with\\ space/],
        ['npx kopf explain deploym\t', /npx kopf explain deployments.apps/],
      ] as const) {
        zsh.type(line)
        await zsh.until(shown)
        // Ctrl-U clears the line.
        zsh.type('\u0015')
      }
      zsh.type('exit\r')
      await zsh.exit
    },
  )

  test.runIf(isThere('fish'))(
    'the fish completion completes commands, values of options, files, and names of the cluster',
    async () => {
      const ask = async (line: string) => {
        const output = await run('fish', ['--no-config', '-c', `source kopf.fish; complete -C "${line}"`])
        return output.match(/^[^\t\n]+/gm) ?? []
      }
      expect(await ask('kopf rele')).toEqual(['release'])
      expect(await ask('kopf run --log-format ')).toEqual(['full', 'json', 'plain', 'short'])
      expect(await ask('kopf run op')).toEqual(['operator.ts'])
      expect(await ask('kopf crd mig')).toContain('migrate')
      expect(await ask('kopf crd migrate --ra')).toEqual(['--rate'])
      expect(await ask('kopf crd migrate --check')).toEqual([])
      expect(await ask('kopf run --context=w')).toEqual(['--context=with space'])
      expect(await ask('kopf run -n team')).toEqual(['team-a', 'team-b'])
      expect(await ask('kopf explain configmaps -n team-a or')).toEqual(['orders'])
      expect(await ask('npx kopf explain deploy')).toEqual(['deployments.apps'])
    },
  )
})
