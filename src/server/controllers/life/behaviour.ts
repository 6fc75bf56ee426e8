/**
 * How a pod behaves, where nothing runs: said on it in an annotation, `kopf.dev/pod: ready after 5s, fail after 1m with 137`.
 * Without one, a pod runs and is ready at once; one that may end, such as that of a job, succeeds after a second. Pure.
 */
import { isDuration, toMs } from '../../../util/duration.ts'

export const behaviourAnnotation = 'kopf.dev/pod'

export interface Behaviour {
  /** Infinity: its image can never be pulled. */
  readonly startAfterMs: number
  /** After it has started; Infinity: never. */
  readonly readyAfterMs: number
  /** How it ends by itself, if it does. */
  readonly end?: Ending | undefined
  /** How long it takes to stop when it is deleted; never longer than its grace period. */
  readonly stopAfterMs: number
}

interface Ending {
  readonly afterMs: number
  readonly exitCode: number
  /** So many times, then as pods do without an annotation; Infinity: each time. */
  readonly times: number
}

const usual = { startAfterMs: 0, readyAfterMs: 0, stopAfterMs: 0 }
const success = { afterMs: 1000, exitCode: 0, times: Infinity }

export const grammar =
  '"never start", "start after 5s", "never ready", "ready after 5s", "run", "succeed after 5s", "fail after 5s with 3", "fail 2 times", "stop after 5s", several of them with commas between'

/** What pods of this restart policy do by themselves. */
function endOf(restartPolicy: string): Ending | undefined {
  return restartPolicy === 'Always' ? undefined : success
}

/** Undefined where the text cannot be understood. */
export function parseBehaviour(text: string | undefined, restartPolicy: string): Behaviour | undefined {
  let behaviour: Behaviour = { ...usual, end: endOf(restartPolicy) }
  for (const phrase of (text ?? '').split(',')) {
    const said = phrase.trim() === '' && text === undefined ? {} : parsePhrase(phrase.trim())
    if (said === undefined) return undefined
    behaviour = { ...behaviour, ...said }
  }
  return behaviour
}

function parsePhrase(phrase: string): Partial<Behaviour> | undefined {
  if (phrase === 'never start') return { startAfterMs: Infinity }
  if (phrase === 'never ready') return { readyAfterMs: Infinity }
  if (phrase === 'run') return { end: undefined }
  const [verb = '', ...words] = phrase.split(/\s+/)
  const clauses = parseClauses(words)
  if (clauses === undefined) return undefined
  const { after, exitCode, times } = clauses
  if (verb === 'fail')
    return { end: { afterMs: after ?? success.afterMs, exitCode: exitCode ?? 1, times: times ?? Infinity } }
  if (exitCode !== undefined || times !== undefined) return undefined
  if (verb === 'succeed') return { end: { ...success, afterMs: after ?? success.afterMs } }
  if (after === undefined) return undefined
  if (verb === 'start') return { startAfterMs: after }
  if (verb === 'ready') return { readyAfterMs: after }
  return verb === 'stop' ? { stopAfterMs: after } : undefined
}

interface Clauses {
  after?: number
  exitCode?: number
  times?: number
}

/** `after 5s`, `with 3` and `2 times`, in any order, each once. */
function parseClauses(words: readonly string[]): Clauses | undefined {
  const clauses: Clauses = {}
  for (let index = 0; index < words.length; index += 2) {
    const [first = '', second = ''] = words.slice(index, index + 2)
    if (first === 'after' && isDuration(second) && clauses.after === undefined) clauses.after = toMs(second)
    else if (first === 'with' && isExitCode(second) && clauses.exitCode === undefined) clauses.exitCode = Number(second)
    else if (second === 'times' && /^[1-9]\d{0,5}$/.test(first) && clauses.times === undefined)
      clauses.times = Number(first)
    else return undefined
  }
  return clauses
}

function isExitCode(text: string): boolean {
  return /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= 255
}

/** The behaviour of one run, after so many that have failed before it. */
export function endOfRun({ end }: Behaviour, failures: number, restartPolicy: string): Ending | undefined {
  return end !== undefined && failures >= end.times ? endOf(restartPolicy) : end
}
