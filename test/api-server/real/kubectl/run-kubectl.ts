/** Runs kubectl against one server, in a folder with manifests, and hides what differs from run to run. */
import { spawn } from 'node:child_process'

export interface Outcome {
  readonly command: string
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface KubectlOptions {
  readonly program: string
  readonly kubeconfig: string
  readonly namespace: string
  /** The working directory, with the manifests and the cache of kubectl. */
  readonly folder: string
}

export class Kubectl {
  readonly #options: KubectlOptions

  constructor(options: KubectlOptions) {
    this.#options = options
  }

  /**
   * Runs a typed command: words are separated by spaces, and words with spaces are in single quotes. Words such as
   * `EDITOR=./edit.sh` before the command are environment variables.
   */
  run(command: string): Promise<Outcome> {
    return this.start(command).outcome
  }

  /** Starts a command that runs until it is stopped. */
  start(command: string): Session {
    const { program, kubeconfig, namespace, folder } = this.#options
    const own = ['--kubeconfig', kubeconfig, '--namespace', namespace, '--cache-dir', `${kubeconfig}.cache`]
    const words = toWords(command)
    const count = words.findIndex((word) => !/^[A-Z_]+=/.test(word))
    const variables = words.slice(0, count).map((word) => word.split(/=(.*)/s).slice(0, 2))
    const env = { ...process.env, ...(Object.fromEntries(variables) as Record<string, string>) }
    const stdio = ['ignore', 'pipe', 'pipe'] as const
    return new Session(
      command,
      spawn(program, [...own, ...words.slice(count)], { cwd: folder, env, stdio: [...stdio] }),
    )
  }
}

class Session {
  readonly outcome: Promise<Outcome>
  readonly #child: ReturnType<typeof spawn>
  #stdout = ''
  #stderr = ''

  constructor(command: string, child: ReturnType<typeof spawn>) {
    this.#child = child
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
    })
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    this.outcome = new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code) => resolve({ command, code, stdout: this.#stdout, stderr: this.#stderr }))
    })
  }

  /** The output so far. */
  get stdout(): string {
    return this.#stdout
  }

  stop(): void {
    this.#child.kill('SIGKILL')
  }
}

function toWords(command: string): string[] {
  const words = command.match(/(?:'[^']*'|[^\s'])+/g) ?? []
  return words.map((word) => word.replaceAll("'", ''))
}

const replacements: ReadonlyArray<readonly [RegExp, string]> = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>'],
  [/(resource ?version"?: +)"?\d+"?/gi, '$1<version>'],
  // The log lines of client-go about watches that end early depend on timing.
  [/^[IWE]\d{4} .*\n/gm, ''],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>'],
  [/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, '<time>'],
  // Temporary folders and files of diff and edit.
  [/\S+\/(LIVE|MERGED)-\d+/g, '<$1>'],
  [/\/tmp\/kubectl-edit-\d+\.yaml/g, '<edited>'],
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4}/g, '<time>'],
  [/https:\/\/127\.0\.0\.1:\d+/g, '<server>'],
  [/v1\.36\.3\+kopf/g, 'v1.36.3'],
  [/\b10\.\d+\.\d+\.\d+\b/g, '<address>'],
  // Ages, and the padding of their column.
  [/(?<=\s)(?:\d+[smhd])+(?=\s|$)/g, '<age>'],
  [/ {2,}/g, '  '],
  [/ +$/gm, ''],
]

export function normalise({ command, code, stdout, stderr }: Outcome): Outcome {
  return { command, code, stdout: hide(stdout), stderr: hide(stderr) }
}

function hide(text: string): string {
  const ordered = text.replaceAll(managers, (_, indent: string, entries: string) => {
    return `${indent}managedFields:\n${inOrder(entries.split(new RegExp(`^(?=${indent}- )`, 'm'))).join('')}`
  })
  return replacements.reduce((result, [pattern, replacement]) => result.replaceAll(pattern, replacement), ordered)
}

const managers = /^( +)managedFields:\n((?:\1- .*\n(?:\1 {2}.*\n)*)+)/gm

/** Sorts adjacent managed fields of the same operation by manager: their order depends on the second of their last write. */
function inOrder(entries: readonly string[]): string[] {
  const operationOf = (entry: string) => /^ *operation: (.*)$/m.exec(entry)?.[1]
  const runs: string[][] = []
  for (const entry of entries) {
    const last = runs.at(-1)
    if (last !== undefined && operationOf(last[0]!) === operationOf(entry)) last.push(entry)
    else runs.push([entry])
  }
  const managerOf = (entry: string) => /^ *manager: (.*)$/m.exec(entry)?.[1] ?? ''
  return runs.flatMap((run) => run.toSorted((a, b) => managerOf(a).localeCompare(managerOf(b))))
}
