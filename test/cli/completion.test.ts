/** Completion scripts, run in their shells: always in bash, in zsh and fish if they are installed. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toBash } from '../../src/cli/completion/bash.ts'
import { toFish } from '../../src/cli/completion/fish.ts'
import { readTree } from '../../src/cli/completion/model.ts'
import { toZsh } from '../../src/cli/completion/zsh.ts'
import { createProgram } from '../../src/cli/program.ts'

const model = readTree(createProgram())
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kopf-completion-'))
  for (const name of ['operator.ts', 'objects.yaml', 'with space.ts']) writeFileSync(join(folder, name), '')
  writeFileSync(join(folder, 'kopf.bash'), toBash(model))
  writeFileSync(join(folder, '_kopf'), toZsh(model))
  writeFileSync(join(folder, 'kopf.fish'), toFish(model))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

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

/** The completions of each line at its end. */
function completions(lines: ReadonlyArray<readonly string[]>): string[][] {
  const asked = lines.map((words) => `ask ${words.map((word) => `'${word}'`).join(' ')}`)
  const script = [
    'source ./kopf.bash',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is bash.
    'ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kopf; (IFS=,; echo "${COMPREPLY[*]}"); }',
    ...asked,
  ].join('\n')
  const output = execFileSync('bash', ['--norc', '-c', script], { cwd: folder, encoding: 'utf8' })
  return output
    .trimEnd()
    .split('\n')
    .map((line) => line.split(',').filter((word) => word !== ''))
}

describe('bash completion', () => {
  test('the bash completion completes commands, options, values of options, and files', () => {
    const cases: ReadonlyArray<readonly [readonly string[], readonly string[]]> = [
      [
        ['kopf', 're'],
        ['resume', 'release'],
      ],
      [['kopf', 'run', '--name'], ['--namespace']],
      [
        ['kopf', 'run', '--log-format', ''],
        ['short', 'full', 'plain', 'json'],
      ],
      [['kopf', 'run', '-n', 'x', '--log-fo'], ['--log-format']],
      [['kopf', 'run', 'op'], ['operator.ts']],
      [['kopf', 'run', 'with'], ['with space.ts']],
      [['kopf', 'dev', 'operator.ts', '--apply', 'ob'], ['objects.yaml']],
      [['kopf', 'manifests', 'operator.ts', '--inst'], ['--install-namespace']],
      [['kopf', 'manifests', 'operator.ts', '--crd', 'ob'], ['objects.yaml']],
      [['kopf', 'crd', 'mi'], ['migrate']],
      [['kopf', 'crd', '--context', 'x', '--check-c'], ['--check-cluster']],
      [['kopf', 'crd', 'migrate', '--ra'], ['--rate']],
      [['kopf', 'crd', 'migrate', 'operator.ts', '--check'], []],
      [['kopf', 'crd', 'migrate', 'op'], ['operator.ts']],
      [['kopf', 'explain', 'kopfexamples', 'a', '--out'], ['--output']],
      [['kopf', 'explain', 'kopfexamples', 'a', '-o', 'j'], ['json']],
      [
        ['kopf', 'completion', ''],
        ['bash', 'zsh', 'fish'],
      ],
      [['kopf', 'help', 'exp'], ['explain']],
      [['kopf', '--ver'], ['--version']],
      [['kopf', 'run', '--namespace', ''], []],
      [['kopf', 'server', ''], []],
      [['kopf', 'nonsense', ''], []],
    ]
    const answers = completions([...cases.map(([words]) => words), ['kopf', 'ru']])
    expect(answers.slice(0, -1)).toEqual(cases.map(([, expected]) => expected))
    expect(answers.at(-1)).toEqual(['run'])
  })
})

describe('completion scripts', () => {
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

  test.runIf(isThere('zsh'))('the zsh completion is valid zsh', () => {
    execFileSync('zsh', ['-n', '_kopf'], { cwd: folder })
  })

  test.runIf(isThere('fish'))('the fish completion completes commands, values of options, and files', () => {
    const ask = (line: string) =>
      execFileSync('fish', ['--no-config', '-c', `source kopf.fish; complete -C "${line}"`], {
        cwd: folder,
        encoding: 'utf8',
      })
    expect(ask('kopf rele')).toMatch(/^release\t/)
    expect(ask('kopf run --log-format ').match(/^\S+/gm)).toEqual(['full', 'json', 'plain', 'short'])
    expect(ask('kopf run op')).toMatch(/^operator\.ts/)
    expect(ask('kopf crd mig')).toMatch(/^migrate\t/m)
    expect(ask('kopf crd migrate --ra')).toMatch(/^--rate\t/)
    expect(ask('kopf crd migrate --check')).toBe('')
  })
})
