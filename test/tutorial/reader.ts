/** Somebody who follows the pages: a folder with files, `kopf dev` in the first terminal, questions in the second. */
import { execFile } from 'node:child_process'
import { readFileSync, renameSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, vi } from 'vitest'
import { Folder, KopfCommand } from '../cli/run-support.ts'
import { isAsPrinted, linesOf } from './comparing.ts'
import type { Kubectl } from './kubectl.ts'
import { readPage, type Step, stepsOf } from './pages.ts'

export interface ReaderOptions {
  readonly kubectl: (folder: string) => Kubectl
  /** On a cluster of the reader's own, by its kubeconfig. */
  readonly cluster?: string
  /** Takes the object out of its file to delete it, as the pages say for those without kubectl. */
  readonly deletesByFile?: boolean
}

/** Everything is there within moments; this is for machines that are busy. */
const patience = { timeout: 30_000, interval: 20 }

export class Reader {
  readonly #folder = new Folder()
  readonly #kubectl: Kubectl
  readonly #cluster: string | undefined
  readonly #deletesByFile: boolean
  #dev: KopfCommand | undefined
  /** How much of its streams was read already. */
  #seen = { stdout: 0, stderr: 0 }
  /** What is seen in addition, in the next look. */
  #added: readonly string[] = []

  constructor({ kubectl, cluster, deletesByFile = false }: ReaderOptions) {
    this.#kubectl = kubectl(this.#folder.path)
    this.#cluster = cluster
    this.#deletesByFile = deletesByFile
    this.#install()
  }

  /** As `npm install` does it, with the package as it is published. */
  #install(): void {
    const packages = { kopf: dirname(dirname(dirname(inject('command')))), zod: '', tsx: '' }
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

  /** As most editors do it: a new file in the place of the old one. */
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

  /** What installs things is done; what is for a cluster of one's own is for those who have one. */
  async #run(command: string): Promise<void> {
    if (command.startsWith('npx kopf dev') && !command.includes('--cluster')) await this.start(command)
    else if (command.startsWith('kubectl') && this.#cluster) await this.#kubectl(wordsOf(command).slice(1))
  }

  async start(command: string): Promise<void> {
    await this.quit()
    if (this.#cluster) await this.#startOver()
    const [, , ...args] = wordsOf(this.#cluster ? clusterCommand() : command)
    this.#dev = new KopfCommand(this.#folder, args, this.#cluster ? { KUBECONFIG: this.#cluster } : {})
    this.#seen = { stdout: 0, stderr: 0 }
  }

  /** On a cluster, objects are not gone with the operator: the pages say what to do then. */
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

  /** All that was said since the last look is on the page, and nothing is on the page that was not said. */
  async see(printed: readonly string[]): Promise<void> {
    const isLog = (line: string) => line.startsWith('[')
    const streams = {
      stdout: [...this.#added, ...printed.filter((line) => !isLog(line))],
      // What is left out of the one stream is left out of the other, too.
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

  /** The embedded server asks for no credentials; the setup says so. */
  #isOfCluster(line: string): boolean {
    return this.#cluster !== undefined && /\] kopf\.activities\.auth +\[INFO/.test(line)
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
    // What changes nothing is asked again for a while: things take a moment to happen. So it is with the deletion of what is not there.
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

  /** In a terminal, tests are told of in words; in a pipe they are not, unless asked to. */
  async #answerOfNode(args: readonly string[]): Promise<string> {
    // A test runner that starts another one tells it so, and is told of it in its own language.
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

/** Words between spaces; those in quotes are one. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''))
}

function clusterCommand(): string {
  const runs = stepsOf(readPage('setup')).flatMap((step) => (step.type === 'run' ? [step.command] : []))
  return runs.find((command) => command.includes('--cluster'))!
}
