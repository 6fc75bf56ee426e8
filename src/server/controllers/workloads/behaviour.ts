/**
 * Parses the simulated behaviour of a pod from its annotation, such as `kopf.dev/pod: ready after 5s, fail after 1m with 137`.
 * Without the annotation, a pod runs and is ready at once; a pod that may complete, such as a Job's, succeeds after a second.
 * Pure.
 */
import { isDuration, toMs } from '../../../util/text/duration.ts'

export const behaviourAnnotation = 'kopf.dev/pod'

export interface PodBehaviour {
  /** Infinity: the image can never be pulled. */
  readonly startAfterMs: number
  /** Counted from the start; Infinity: never ready. */
  readonly readyAfterMs: number
  /** How the pod terminates by itself; undefined if it keeps running. */
  readonly end?: PodTermination | undefined
  /** Time to stop after deletion; limited by the grace period. */
  readonly stopAfterMs: number
}

interface PodTermination {
  readonly afterMs: number
  readonly exitCode: number
  /** Number of runs that end this way; later runs behave as without an annotation. Infinity: all runs. */
  readonly times: number
}

const defaultDelays = { startAfterMs: 0, readyAfterMs: 0, stopAfterMs: 0 }
const defaultTermination = { afterMs: 1000, exitCode: 0, times: Infinity }

export const grammar =
  '"never start", "start after 5s", "never ready", "ready after 5s", "run", "succeed after 5s", "fail after 5s with 3", "fail 2 times", "stop after 5s", several of them with commas between'

/** Default end for pods with this restart policy. */
function defaultTerminationOf(restartPolicy: string): PodTermination | undefined {
  return restartPolicy === 'Always' ? undefined : defaultTermination
}

/** Undefined if the text is invalid. */
export function parseBehaviour(text: string | undefined, restartPolicy: string): PodBehaviour | undefined {
  let behaviour: PodBehaviour = { ...defaultDelays, end: defaultTerminationOf(restartPolicy) }
  for (const phrase of (text ?? '').split(',')) {
    const parsed = phrase.trim() === '' && text === undefined ? {} : parsePhrase(phrase.trim())
    if (parsed === undefined) return undefined
    behaviour = { ...behaviour, ...parsed }
  }
  return behaviour
}

function parsePhrase(phrase: string): Partial<PodBehaviour> | undefined {
  if (phrase === 'never start') return { startAfterMs: Infinity }
  if (phrase === 'never ready') return { readyAfterMs: Infinity }
  if (phrase === 'run') return { end: undefined }
  const [verb = '', ...words] = phrase.split(/\s+/)
  const clauses = parseClauses(words)
  if (clauses === undefined) return undefined
  const { after, exitCode, times } = clauses
  if (verb === 'fail')
    return { end: { afterMs: after ?? defaultTermination.afterMs, exitCode: exitCode ?? 1, times: times ?? Infinity } }
  if (exitCode !== undefined || times !== undefined) return undefined
  if (verb === 'succeed') return { end: { ...defaultTermination, afterMs: after ?? defaultTermination.afterMs } }
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

/** Parses `after 5s`, `with 3` and `2 times`, in any order, each at most once. */
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

/** How one run ends, given the number of failed runs before it. */
export function terminationOfRun(
  { end }: PodBehaviour,
  failures: number,
  restartPolicy: string,
): PodTermination | undefined {
  return end !== undefined && failures >= end.times ? defaultTerminationOf(restartPolicy) : end
}
