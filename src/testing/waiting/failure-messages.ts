/** Error messages of waits that time out: the states of the object, the differences from the expectation, and the last log lines. */
import { KopfError } from '../../errors.ts'
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import { describeChanges, describeShown, toShown } from './shortened.ts'

const maxLogLines = 15
const maxStates = 10
const maxChangeLines = 30

/** The last states that a wait has examined, for its error message. */
export class StateTrail {
  readonly #changes: string[][] = []
  #last: object | undefined
  #count = 0

  get last(): object | undefined {
    return this.#last
  }

  /** Adds the next state of an object; undefined if the object is deleted. */
  add(object: KubeObject | undefined): void {
    if (object === undefined && this.#last === undefined) return
    this.#add(object && toShown(object))
  }

  /** Adds the next state of a list, as an object with one field per list item. */
  addList(objects: readonly KubeObject[]): void {
    const keyOf = ({ namespace, name = '' }: ObjectMeta) => (namespace === undefined ? name : `${namespace}/${name}`)
    this.#add(Object.fromEntries(objects.map((object) => [keyOf(object.metadata), toShown(object)])))
  }

  changes(): string[] {
    const lines = this.#changes.slice(this.#count > maxStates ? 0 : 1).map((changes) => `  ${joinLines(changes)}`)
    const states = this.#count === 1 ? 'one state' : `${this.#count} states`
    const title = lines.length === 1 ? '; the change:' : '; the last changes:'
    return [`It went through ${states}${lines.length === 0 ? '' : title}`, ...lines]
  }

  describe(name: string): string {
    if (this.#count === 0) return `There is no "${name}".`
    const now = this.#last === undefined ? `Now there is no "${name}".` : `Current state: ${describeShown(this.#last)}`
    return [...this.changes(), now].join('\n')
  }

  #add(shown: object | undefined): void {
    this.#count += 1
    this.#changes.push(shown === undefined ? ['deleted'] : describeChanges(this.#last, shown))
    if (this.#changes.length > maxStates) this.#changes.shift()
    this.#last = shown
  }
}

function joinLines(changes: readonly string[]): string {
  if (changes.length === 0) return '(only its version)'
  const rest = changes.length > maxChangeLines ? [`… ${changes.length - maxChangeLines} more`] : []
  return [...changes.slice(0, maxChangeLines), ...rest].join('\n  ')
}

export function describeLogs(logs: readonly string[]): string {
  if (logs.length === 0) return 'No operator has logged anything: is one started on this cluster?'
  return `Last log lines:\n${logs.slice(-maxLogLines).join('\n')}`
}

export function stillRunning(count: number): KopfError {
  const who = count === 1 ? 'an operator was' : `${count} operators were`
  return new KopfError(
    'KOPF_CLUSTER_IN_USE',
    `Cannot close the cluster cleanly: ${who} still running on it, and had to be stopped; start operators with ` +
      '`await using running = await operator.start(cluster)` after the cluster, or stop them before it',
  )
}
