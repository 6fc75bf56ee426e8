/**
 * Records every call of simulated daemons and timers, and checks the invariants of running calls (B1 to B4, P2).
 * The wrapped functions and the world report to it; daemon-checks.ts reads it after the simulation has settled.
 *
 * - B1: a daemon or timer has at most one call at a time per object in a process.
 * - B2: no call starts or continues without a stop for an object that is deleted, does not match, or is of a stopping operator.
 * - B3: the stop reason is true.
 * - B4: the finalizer is added before the first call, and removed only after the last call has ended or timed out.
 *
 * B5 and B6 are in schedule-checks.ts.
 */
import { type Operator, PermanentError, TemporaryError } from 'kopf'
import type { Clock } from '../../src/util/async/clock.ts'
import type { PartArgs, Stage, State } from './daemon-behaviour.ts'
import { forever } from './process-clock.ts'
import { Rhythms, toleranceMs } from './schedule-checks.ts'
import { isInMood, needsFinalizer, type Part, patienceMs } from './simulated-daemons.ts'
import type { Twin } from './simulated-edits.ts'
import { finalizer, text } from './simulated-handlers.ts'
import type { Journal } from './simulation-journal.ts'
import type { WrittenObject } from './wire-messages.ts'

/** One call of a daemon or a timer. */
export interface Run {
  readonly part: Part
  readonly args: PartArgs
  readonly uid: string
  readonly name: string
  readonly process: number
  readonly beganMs: number
  /** The version of the object at the start, and the highest version seen. */
  readonly version: number
  seen: number
  readonly retry: number
  /** The delay that the error requests. */
  delayMs: number
  toldMs: number | undefined
  reason: string | undefined
  endedMs: number | undefined
  /** `cut`: the process was killed. */
  end: 'running' | 'done' | 'retry' | 'failed' | 'cut'
  result: unknown
  /** Number of refused writes of the object and of killed processes at the end of the call. */
  refusals: number
}

export interface BackgroundOptions {
  readonly journal: Journal
  readonly clock: Clock
  readonly namespace: string
  /** The model of the object; undefined after its deletion. */
  readonly findTwin: (uid: string) => Twin | undefined
  readonly isStopping: (process: number) => boolean
  /** Maximum time in which other work for an object may delay its processing. */
  readonly longestMs: number
  /** Blocks the event loop for a while. */
  readonly block: () => void
}

export class Background {
  readonly runs: Run[] = []
  readonly #running = new Map<string, Run>()
  readonly #rhythms: Rhythms
  /** The last call that finished by itself, by process, uid and id. */
  readonly #finished = new Map<string, Run>()
  readonly #options: BackgroundOptions

  constructor(options: BackgroundOptions) {
    this.#options = options
    this.#rhythms = new Rhythms(options.journal)
  }

  register(kopf: Operator, widgets: readonly [string, string, string], parts: readonly Part[], stage: Stage): void {
    for (const part of parts) {
      const options = { ...part.options, ...this.#whenOf(part), id: part.id }
      const fn = (args: PartArgs) => this.#perform(part, stage, args)
      if (part.kind === 'daemon') kopf.daemon(widgets, options as never, fn as never)
      else kopf.timer(widgets, options as never, fn as never)
    }
  }

  #whenOf({ hasWhen, isMoody, isFor }: Part): object {
    if (isMoody) return { when: () => isInMood(this.#nowMs()) }
    return hasWhen ? { when: isFor } : {}
  }

  /** The running calls of a process. */
  runningIn(process: number): readonly Run[] {
    return [...this.#running.values()].filter((run) => run.process === process)
  }

  find(process: number, uid: string, { id }: Part): Run | undefined {
    return this.#running.get(`${process} ${uid} ${id}`)
  }

  /** True if the daemon or timer finished by itself, and was not stopped while its result was written. */
  hasFinished(process: number, uid: string, { id }: Part): boolean {
    return this.#finished.get(`${process} ${uid} ${id}`)?.args.stopped.isSet() === false
  }

  /** True if the daemon or timer has finished since the object was last filtered out. */
  #isOver({ process, uid, part }: Run): boolean {
    const endedMs = this.#finished.get(`${process} ${uid} ${part.id}`)?.endedMs ?? -Infinity
    const outMs = this.#options.journal.outOfSightMs(process, uid) ?? -Infinity
    return this.hasFinished(process, uid, part) && endedMs > outMs
  }

  killed(process: number): void {
    for (const run of this.runningIn(process)) this.#close(run, 'cut')
  }

  /** The phases of the given calls. */
  phasesOf(runs: readonly Run[]): readonly string[] {
    const phaseOf = ({ reason, part }: Run) => (reason !== undefined ? 'an ending' : `a call of a ${part.kind}`)
    return [...new Set(runs.map(phaseOf))]
  }

  /** Whether a daemon or timer waits for its initial delay. */
  isAwaited(process: number, twin: Twin, parts: readonly Part[]): boolean {
    if (twin.isDeleting || this.#options.journal.changedMs(process, twin.uid) === undefined) return false
    const isBegun = ({ id }: Part) => this.runs.some((run) => run.uid === twin.uid && run.part.id === id)
    return parts.some((part) => part.options.initialDelay !== undefined && part.isFor(twin) && !isBegun(part))
  }

  /** Checks the view and the stop of all running calls; called after every step. */
  look(): void {
    for (const run of this.#running.values()) {
      this.#checkView(run)
      this.#checkTold(run)
      this.#checkUntold(run)
    }
  }

  /** B4: called with every write of the operator. */
  checkRelease({ metadata: { uid, name, finalizers = [] } }: WrittenObject, process: number): void {
    if (finalizers.includes(finalizer) || this.#options.findTwin(uid)?.isForced) return
    for (const run of this.runningIn(process)) {
      if (run.uid !== uid || !needsFinalizer(run.part)) continue
      if (this.isAbandoned(run)) this.#options.journal.reached.add('released while an abandoned daemon runs')
      else this.#violate('B4', `${name} is let go while "${run.part.id}" is running`)
    }
  }

  /** True if the call was stopped and its cancellation timeout is over. */
  isAbandoned({ part, toldMs }: Run): boolean {
    const patience = patienceMs(part)
    return toldMs !== undefined && patience !== undefined && this.#nowMs() - toldMs >= patience - toleranceMs
  }

  async #perform(part: Part, stage: Stage, args: PartArgs): Promise<unknown> {
    if (stage.isDead()) return forever()
    const run = this.#begin(part, stage, args)
    this.#options.block()
    try {
      const result = await part.act(stage, args)
      if (part.kind === 'timer' && stage.restMs() > 0) await stage.clock.sleep(stage.restMs())
      run.result = result
      this.#finish(run, 'done')
      return result
    } catch (error) {
      run.delayMs =
        error instanceof TemporaryError ? (error.delay as number) * 1000 : (part.options.backoff ?? 0) * 1000
      this.#finish(run, error instanceof PermanentError ? 'failed' : 'retry')
      throw error
    }
  }

  #begin(part: Part, { process }: Stage, args: PartArgs): Run {
    const { uid, name, meta, retry } = args
    const version = Number(meta.resourceVersion)
    this.#options.journal.called(process)
    this.#options.journal.tell(`-> ${part.id} ${name} ${uid.slice(0, 4)} v${version} #${retry}`)
    const run: Run = {
      ...{ part, args, uid, name, process, version, retry, beganMs: this.#nowMs(), seen: version },
      ...{
        delayMs: 0,
        toldMs: undefined,
        reason: undefined,
        endedMs: undefined,
        end: 'running',
        result: undefined,
        refusals: 0,
      },
    }
    this.#checkBegin(run)
    this.#rhythms.check(run)
    this.runs.push(run)
    this.#running.set(keyOf(run), run)
    return run
  }

  #finish(run: Run, end: 'done' | 'retry' | 'failed'): void {
    if (run.end === 'cut') return
    this.#checkTold(run)
    this.#options.journal.tell(`<- ${run.part.id} ${run.name} ${end} ${run.reason ?? ''} ${text(run.result)}`)
    this.#close(run, end)
    if (run.part.isFaithful && run.reason === undefined) {
      this.#violate('B3', `"${run.part.id}" of ${run.name} was woken although it was not told to stop`)
    }
    const isLast = end === 'failed' || (end === 'done' && run.part.kind === 'daemon')
    if (isLast && run.reason === undefined) this.#finished.set(keyOf(run), run)
  }

  #close(run: Run, end: Run['end']): void {
    run.end = end
    run.endedMs = this.#nowMs()
    run.refusals = this.#options.journal.refusals(run.uid)
    if (this.#running.get(keyOf(run)) === run) this.#running.delete(keyOf(run))
  }

  #checkBegin(run: Run): void {
    const { part, args, uid, name, process } = run
    const { journal, namespace, findTwin, isStopping } = this.#options
    const who = `"${part.id}" of ${name}`
    if (part.kind === 'daemon' && run.retry > 0) journal.reached.add('a daemon is retried')
    if (this.#running.has(keyOf(run))) this.#violate('B1', `${who} is called while it is running`)
    if (isStopping(process)) this.#violate('B2', `${who} is called although the operator stops`)
    if (this.#isOver(run)) this.#violate('B2', `${who} is called again after it had ended by itself`)
    if (args.meta.deletionTimestamp !== undefined) this.#violate('B2', `${who} is called for what is deleted`)
    if (part.isMoody && !isInMood(this.#nowMs())) this.#violate('B2', `${who} is called although it is not in the mood`)
    if (!part.isFor(args)) this.#violate('B2', `${who} is called although it is not for ${text(args.labels)}`)
    const goneMs = journal.goneMs(process, uid)
    if (goneMs !== undefined && this.#nowMs() - goneMs > this.#options.longestMs)
      this.#violate('B2', `${who} is called after its end`)
    const isHeld = (args.meta.finalizers ?? []).includes(finalizer)
    if (needsFinalizer(part) && !isHeld && !findTwin(uid)?.isForced) {
      this.#violate('B4', `${who} is called without the finalizer`)
    }
    if (args.namespace !== namespace) this.#violate('P7', `${who} is called for namespace ${args.namespace}`)
    args.memo['uid'] ??= uid
    if (args.memo['uid'] !== uid) this.#violate('P7', `${who} has the memo of another object`)
    journal.checkVersion({ process, uid, who, version: run.version })
  }

  /** P2: the object that a daemon sees never returns to an older state. */
  #checkView(run: Run): void {
    if (run.part.kind !== 'daemon') return
    const version = Number(run.args.meta.resourceVersion)
    if (version < run.seen) this.#violate('P2', `"${run.part.id}" of ${run.name} sees ${version} after ${run.seen}`)
    run.seen = version
  }

  #checkTold(run: Run): void {
    const { part, args, name } = run
    const { reason } = args.stopped
    if (reason === run.reason) return
    run.toldMs ??= this.#nowMs()
    run.reason = reason
    this.#options.journal.tell(`   "${part.id}" of ${name} is told: ${reason}`)
    const why = this.#whyUntrue(run)
    if (why !== undefined) this.#violate('B3', `"${part.id}" of ${name} is told "${reason}", but ${why}`)
  }

  #whyUntrue({ part, reason, uid, process, version }: Run): string | undefined {
    const { findTwin, isStopping } = this.#options
    const twin = findTwin(uid)
    if (reason === 'resource-deleted') return twin === undefined || twin.isDeleting ? undefined : 'it is not deleted'
    if (reason === 'operator-exiting') return isStopping(process) ? undefined : 'nobody stops the operator'
    if (reason !== 'filters-mismatch') return 'there is no such reason'
    if (part.isMoody) return undefined
    // The operator may have seen any state since the start of the call.
    const isMismatch = (state: State & { readonly version: number }) => state.version > version && !part.isFor(state)
    return twin === undefined || twin.states.some(isMismatch) ? undefined : 'it has matched all the time'
  }

  #checkUntold({ part, uid, name, process, reason }: Run): void {
    const goneMs = this.#options.journal.goneMs(process, uid)
    if (goneMs === undefined || reason !== undefined || this.#nowMs() - goneMs < this.#options.longestMs) return
    this.#violate('B2', `"${part.id}" of ${name} is not told that it is gone`)
  }

  #violate(property: string, what: string): void {
    this.#options.journal.violate(property, what)
  }

  #nowMs(): number {
    return this.#options.clock.now()
  }
}

function keyOf({ process, uid, part }: Pick<Run, 'process' | 'uid' | 'part'>): string {
  return `${process} ${uid} ${part.id}`
}
