/** Follows the steps of the tutorial: a folder with files, `kopf dev` in the first terminal, commands in the second. */
import { execFile } from 'node:child_process'
import { readFileSync, renameSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, vi } from 'vitest'
import { Folder, KopfCommand } from '../cli/run-support.ts'
import { isAsPrinted, linesOf } from './compare-output.ts'
import type { Kubectl } from './tutorial-kubectl.ts'
import { readPage, type Step, stepsOf } from './tutorial-pages.ts'

export interface ReaderOptions {
  readonly kubectl: (folder: string) => Kubectl
  /** The kubeconfig of a real cluster; default: the embedded server of `kopf dev`. */
  readonly cluster?: string
  /** Deletes the object by removing it from its file, as the pages suggest without kubectl. */
  readonly deletesByFile?: boolean
}

/** The output usually comes at once; the timeout is for busy machines. */
const patience = { timeout: 30_000, interval: 20 }

export class Reader {
  readonly #folder = new Folder()
  readonly #kubectl: Kubectl
  readonly #cluster: string | undefined
  readonly #deletesByFile: boolean
  #dev: KopfCommand | undefined
  /** The number of characters of the streams that were already compared. */
  #seen = { stdout: 0, stderr: 0 }
  /** Lines that are expected in addition in the next comparison. */
  #added: readonly string[] = []

  constructor({ kubectl, cluster, deletesByFile = false }: ReaderOptions) {
    this.#kubectl = kubectl(this.#folder.path)
    this.#cluster = cluster
    this.#deletesByFile = deletesByFile
    this.#install()
  }

  /** Links the built package and its companions, in place of `npm install`. */
  #install(): void {
    const packages = { kopf: dirname(dirname(dirname(inject('command')))), zod: '', tsx: '', yaml: '' }
    this.#folder.write({ 'package.json': '{"type":"module"}', 'node_modules/.package-lock.json': '{}' })
    for (const [name, path] of Object.entries(packages)) {
      symlinkSync(path || resolve('node_modules', name), join(this.#folder.path, 'node_modules', name))
    }
  }

  async follow(step: Step): Promise<void> {
    switch (step.type) {
      case 'save':
        return this.save(step.file, step.text)
      case 'change':
        return this.#change(step)
      case 'run':
        return this.#run(step.command)
      case 'quit':
        return this.quit()
      case 'see':
        return this.see(step.lines)
      case 'ask':
        return this.#ask(step)
    }
  }

  /** Replaces the old file by a new one, as most editors do. */
  save(file: string, text: string): void {
    this.#folder.write({ [`tmp/${file}`]: text })
    renameSync(join(this.#folder.temporary, file), join(this.#folder.path, file))
  }

  read(file: string): string {
    return readFileSync(join(this.#folder.path, file), 'utf8')
  }

  #change({ file, from, to }: Extract<Step, { type: 'change' }>): void {
    const text = this.read(file)
    expect(text).toContain(from)
    this.save(file, text.replace(from, to))
  }

  /** Runs a command of the page. Installation commands are skipped, and kubectl commands run on a real cluster only. */
  async #run(command: string): Promise<void> {
    if (command.startsWith('npx kopf dev') && !command.includes('--cluster')) await this.start(command)
    else if (command.startsWith('kubectl') && this.#cluster) await this.#kubectl(wordsOf(command).slice(1))
  }

  async start(command: string): Promise<void> {
    await this.quit()
    if (this.#cluster) await this.#startOver()
    const [, , ...args] = wordsOf(this.#cluster ? clusterCommand() : command)
    // As at a terminal, which a reader has.
    const variables = { KOPF_DEV_LOG_FORMAT: 'short', ...(this.#cluster && { KUBECONFIG: this.#cluster }) }
    this.#dev = new KopfCommand(this.#folder, args, variables)
    this.#seen = { stdout: 0, stderr: 0 }
  }

  /** Deletes the objects of the previous run, since they stay on a real cluster. */
  async #startOver(): Promise<void> {
    await this.#kubectl(['delete', 'evc', '--all']).catch((error: Error) => {
      if (!error.message.includes("doesn't have a resource type")) throw error
    })
  }

  async quit(): Promise<void> {
    const dev = this.#dev
    this.#dev = undefined
    dev?.send('SIGTERM')
    if (dev) expect(await dev.exit).toBe(0)
  }

  /** Expects that the output since the last comparison is exactly that of the page. */
  async see(printed: readonly string[]): Promise<void> {
    const isLog = (line: string) => /^\d\d:\d\d:\d\d [A-Z]+ /.test(line)
    const streams = {
      stdout: [...this.#added, ...printed.filter((line) => !isLog(line))],
      // A line with `…` stands for omitted lines of both streams.
      stderr: printed.filter((line) => isLog(line) || line === '…'),
    }
    const unread = () => ({
      stdout: linesOf(this.#dev!.stdout.slice(this.#seen.stdout)),
      stderr: linesOf(this.#dev!.stderr.slice(this.#seen.stderr)).filter((line) => !this.#isOfCluster(line)),
    })
    const areAsPrinted = () => {
      const { stdout, stderr } = unread()
      return isAsPrinted(streams.stdout, stdout) && isAsPrinted(streams.stderr, stderr)
    }
    await vi.waitUntil(areAsPrinted, patience).catch(() => expect(unread()).toEqual(streams))
    this.#added = []
    this.#seen = { stdout: this.#dev!.stdout.length, stderr: this.#dev!.stderr.length }
  }

  /** Lines that only appear on a real cluster, since the embedded server needs no login. */
  #isOfCluster(line: string): boolean {
    return this.#cluster !== undefined && /INFO {2}(Initial authentication|Activity '\w+') /.test(line)
  }

  async #ask({ command, answer }: Extract<Step, { type: 'ask' }>): Promise<void> {
    const words = wordsOf(command)
    if (this.#deletesByFile && command.startsWith('kubectl delete evc ')) {
      this.#takeOut(words[3]!)
      return
    }
    let said: string[] = []
    const isAnswered = async () => {
      said = linesOf(await this.#answer(words).catch(String))
      return isAsPrinted(answer, said)
    }
    // Reads are repeated until the output matches, since changes take some time. So is the deletion of an object that does not exist yet.
    const isHarmless = () =>
      words[0] !== 'node' && (words[1] !== 'delete' || said.some((line) => line.endsWith(': 404')))
    const isOver = async () => (await isAnswered()) || !isHarmless()
    await vi.waitUntil(isOver, patience).catch(() => {})
    expect(isAsPrinted(answer, said) ? answer : said).toEqual(answer)
  }

  #takeOut(name: string): void {
    this.save('evc.yaml', this.read('evc.yaml').replaceAll(/^(?=.)/gm, '#'))
    this.#added = [
      `kopf dev: deleted ephemeralvolumeclaims.example.com/${name}`,
      'kopf dev: evc.yaml changed, applied in 20 ms',
    ]
  }

  async #answer([program, ...args]: readonly string[]): Promise<string> {
    if (program === 'kubectl') return this.#kubectl(args)
    if (program === 'node') return this.#answerOfNode(args)
    const kubeconfig = this.#cluster ?? join(this.#folder.path, 'kubeconfig')
    const one = new KopfCommand(this.#folder, args.slice(1), { KUBECONFIG: kubeconfig })
    await one.exit
    return one.stdout + one.stderr
  }

  /** Node's test runner prints the spec report in a terminal; in a pipe it needs an option for that. */
  async #answerOfNode(args: readonly string[]): Promise<string> {
    // Without the variables by which a test runner makes a nested runner report in its own protocol.
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, VITEST: ___, ...inherited } = process.env
    const options = { cwd: this.#folder.path, env: { ...inherited, NO_COLOR: '1', FORCE_COLOR: '0' } }
    const { stdout } = await promisify(execFile)(process.execPath, ['--test-reporter=spec', ...args], options)
    return stdout
  }

  async leave(): Promise<void> {
    await this.quit()
    this.#folder.remove()
  }
}

/** Splits a command at spaces, except within quotes. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''))
}

function clusterCommand(): string {
  const runs = stepsOf(readPage('setup')).flatMap((step) => (step.type === 'run' ? [step.command] : []))
  return runs.find((command) => command.includes('--cluster'))!
}
