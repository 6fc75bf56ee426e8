/** Runs an example by its README, and compares its output with the README. */
import { afterAll, afterEach } from 'vitest'
import { type Block, type Command, type Readme, readReadme } from './readme.ts'
import { RealStage } from './real-stage.ts'
import { isAnswerShown, type Terminal } from './shown.ts'
import { isReal, openStage, type Run, type Stage } from './stage.ts'

const open = new Set<Story>()

/** Called at the top of a test file: closes the examples that a test has opened. */
export function useStories(): void {
  afterEach(async () => {
    for (const story of open) {
      open.delete(story)
      await story.stage.close()
    }
  })
  if (isReal) afterAll(() => RealStage.clear())
}

export class Story {
  readonly stage: Stage
  readonly #readme: Readme
  readonly #rest: Block[]

  private constructor(stage: Stage, readme: Readme) {
    this.stage = stage
    this.#readme = readme
    this.#rest = [...readme.seen]
  }

  /** Opens an example, with replacements for texts of the README, such as ports that may be in use. */
  static async open(folder: string, words: Readonly<Record<string, string>> = {}): Promise<Story> {
    const story = new Story(await openStage(folder), readReadme(folder, words))
    open.add(story)
    await story.stage.prepare(story.#readme.shell)
    return story
  }

  /** Runs the command of the README for this cluster; if there are several, the one that contains `part`. */
  run(part: string = ''): Promise<Run> {
    const isForHere = (line: string) => /--embedded|--kubeconfig/.test(line) !== isReal
    const commands = this.#readme.shell.filter((line) => line.startsWith('npx kopf run') && isForHere(line))
    const command = commands.find((line) => line.includes(part))
    if (command === undefined) throw new Error(`The README has no command to run it with ${part} here`)
    return this.stage.run(command)
  }

  /** Compares the README with the actual output, to its end or for this number of blocks. */
  async follow(run: Run, blocks: number = this.#rest.length): Promise<void> {
    for (const block of this.#rest.splice(0, blocks)) {
      if (block.type === 'stop') await run.stop()
      if (block.type === 'commands') for (const one of block.commands) await this.#ask(one)
      else await this.#untilShown(run.terminal, block.lines)
    }
  }

  async #untilShown(terminal: Terminal, lines: readonly string[]): Promise<void> {
    try {
      await this.stage.until(() => terminal.shows(lines))
    } catch {
      throw new Error(`The README shows:\n${lines.join('\n')}\nThere is:\n${terminal.lines.join('\n')}`)
    }
  }

  /** Repeats commands that only read, until the operator has caught up. */
  async #ask({ command, answer }: Command): Promise<void> {
    let last = ''
    const isAnswered = async () => {
      last = command.startsWith('curl ')
        ? await fetchText(command.slice('curl '.length))
        : await this.stage.answer(command)
      // Events have random names, by which they are listed.
      const isSorted = !command.startsWith('kubectl get events')
      return isAnswerShown(answer, last, isSorted)
    }
    const isLook = /^kubectl (get|wait)|^curl/.test(command)
    try {
      if (isLook) await this.stage.until(isAnswered)
      else if (!(await isAnswered())) throw new Error('not so')
    } catch {
      throw new Error(`The README shows:\n$ ${command}\n${answer.join('\n')}\nIt is:\n${last}`)
    }
  }

  /** Skips blocks that the test compares itself. */
  skip(blocks: number): void {
    this.#rest.splice(0, blocks)
  }

  /** Fails if the README shows more than was compared. */
  end(): void {
    if (this.#rest.length > 0) throw new Error(`Nobody has looked at:\n${JSON.stringify(this.#rest, undefined, 2)}`)
  }
}

async function fetchText(url: string): Promise<string> {
  return (await fetch(url)).text()
}

/** Runs an example and compares its whole README. */
export async function follow(folder: string): Promise<Story> {
  const story = await Story.open(folder)
  await story.follow(await story.run())
  return story
}
