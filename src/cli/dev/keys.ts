/** The keys of `kopf dev` at a terminal: what each of them does, and the help. */
import { clearScreen, print } from '../terminal.ts'
import type { DevDashboard } from './dev-dashboard.ts'
import type { DevSession } from './dev-session.ts'

export interface DevKeysOptions {
  readonly session: DevSession
  /** Whether the cluster can be emptied: only the embedded server. */
  readonly canReset: boolean
  /** Undefined with `--no-dashboard`. */
  readonly dashboard: DevDashboard | undefined
  readonly quit: () => void
}

interface DevKey {
  readonly key: string
  /** The name in the line at the start. */
  readonly name: string
  readonly help: string
  readonly press: () => void
}

const ctrlC = '\u0003'

export class DevKeys {
  readonly #options: DevKeysOptions
  readonly #keys: readonly DevKey[]
  /** Set while a question is open: the next key answers it. */
  #onAnswer: ((isYes: boolean) => void) | undefined

  constructor(options: DevKeysOptions) {
    this.#options = options
    const { session, canReset, dashboard, quit } = options
    const reset: DevKey = {
      key: 'x',
      name: 'reset',
      help: 'delete all objects of the embedded server, then apply CRDs and files again',
      press: () => this.#askForReset(),
    }
    this.#keys = [
      {
        key: 'r',
        name: 'restart',
        help: 'restart the operator; one that is blocked is killed',
        press: () => session.reload(),
      },
      ...(dashboard === undefined ? [] : dashboardKeys(dashboard)),
      {
        key: 'l',
        name: 'list',
        help: 'list the objects of the operator, and the state of their handling',
        press: () => void session.printObjects(),
      },
      { key: 'e', name: 'errors', help: 'show the type errors', press: () => void session.printTypes() },
      ...(canReset ? [reset] : []),
      { key: 'c', name: 'clear', help: 'clear the screen', press: clearScreen },
      { key: 'h', name: 'help', help: 'show this help', press: () => print(this.#help()) },
      { key: 'q', name: 'quit', help: 'stop the operator and quit, as Ctrl-C does', press: quit },
    ]
  }

  /** The line at the start. */
  get summary(): string {
    const others = this.#keys.filter(({ key }) => key !== 'h').map(({ key, name }) => `${key} ${name}`)
    return `Press h for help: ${others.join(', ')}.`
  }

  press(key: string): void {
    const { dashboard } = this.#options
    if (dashboard?.isTopShown) {
      dashboard.press(key)
      return
    }
    const answer = this.#onAnswer
    this.#onAnswer = undefined
    if (key === ctrlC) this.#options.quit()
    else if (answer !== undefined) answer(key === 'y' || key === 'Y')
    else this.#keys.find((one) => one.key === key)?.press()
  }

  #askForReset(): void {
    print('kopf dev: Delete all objects of the embedded server, and apply CRDs and files again? [y/N]')
    this.#onAnswer = (isYes) => {
      if (isYes) this.#options.session.reset()
      else print('kopf dev: Nothing was deleted.')
    }
  }

  #help(): string {
    return ['Keys:', ...this.#keys.map(({ key, help }) => `  ${key}  ${help}`)].join('\n')
  }
}

function dashboardKeys(dashboard: DevDashboard): DevKey[] {
  return [
    {
      key: 'o',
      name: 'open',
      help: 'open the dashboard of the operator in the browser',
      press: () => void dashboard.open(),
    },
    {
      key: 't',
      name: 'top',
      help: 'show the operator in this terminal, as kopf top does; q comes back',
      press: () => void dashboard.showTop(),
    },
  ]
}
