/**
 * The record of a simulation: each handler call, each write of the operator, each state it has received, and the
 * violated properties. Written by the handlers and the transport, read by the checks at the end.
 */
import type { Clock } from '../../src/util/async/clock.ts'

/** One call of one handler. */
export interface Call {
  readonly id: string
  readonly uid: string
  readonly name: string
  readonly process: number
  readonly atMs: number
  readonly reason: string
  readonly version: number
  readonly retry: number
  /** The first attempt in the same handling cycle: a handler may be called several times in a cycle, with one write for all. */
  readonly firstRetry: number
  /** The `old` and `new` arguments of the handler as JSON. */
  readonly old: string
  readonly new: string
  /** Number of failed or lost writes of this object before the call, and of its edits. */
  readonly brokenWrites: number
  readonly edits: number
  end: 'running' | 'done' | 'retry' | 'failed'
  /** Its progress was written. */
  isCommitted: boolean
  /** The handler was called for another state since. */
  isSuperseded: boolean
}

/** A state that a process has received. */
interface SeenState {
  readonly uid: string
  readonly version: number
  readonly essence: string
}

export interface Violation {
  readonly property: string
  readonly what: string
}

export class Journal {
  readonly violations: Violation[] = []
  readonly calls: Call[] = []
  /** The last call, by uid and handler. */
  readonly #last = new Map<string, Call>()
  /** The last finished call, by uid and handler. */
  readonly #lastDone = new Map<string, Call>()
  /** Number of writes that failed or got no response, by uid; a crash counts for all objects. */
  readonly #broken = new Map<string, number>()
  readonly #edits = new Map<string, number>()
  crashes = 0
  /** Number of stops that may have lost pending writes. */
  hastyStops = 0
  /** By uid: the process whose last write was to the status, and the number of edits when it was killed. */
  readonly #half = new Map<string, number>()
  readonly #torn = new Map<string, number>()
  /** The highest version each process has seen or written, by process and uid. */
  readonly #versions = new Map<string, number>()
  /** The time and the version of the reported deletion of an object, by process and uid. */
  readonly #gone = new Map<string, { readonly atMs: number; readonly version: number; isBack: boolean }>()
  /** The last state of an object that a process has received, and its time. */
  readonly #states = new Map<string, { readonly version: number; readonly essence: string; readonly sinceMs: number }>()
  /** Number of refused writes, by uid. */
  readonly #refused = new Map<string, number>()
  readonly #clock: Clock
  /** Called before the first handler call of a process. */
  readonly #onFirstCall: () => void
  #called = 0
  patches = 0
  /** Number of writes without a change. */
  idleWrites = 0
  requests = 0
  changes = 0
  lastWriteMs = 0
  /** The reached situations, to detect situations that are never tested. */
  readonly reached: Set<string> = new Set()
  /** The log of the simulation for the analysis of a failure. */
  readonly story: string[] = []

  constructor(clock: Clock, onFirstCall: () => void) {
    this.#clock = clock
    this.#onFirstCall = onFirstCall
  }

  /** Called before every call of any handler. */
  called(process: number): void {
    if (this.#called === process) return
    this.#called = process
    this.#onFirstCall()
  }

  violate(property: string, what: string): void {
    this.violations.push({ property, what: `${this.#time()} ${what}` })
    this.tell(`!!! ${property}: ${what}`)
  }

  tell(line: string): void {
    this.story.push(`${this.#time()} ${line}`)
  }

  begin(
    call: Omit<Call, 'end' | 'atMs' | 'brokenWrites' | 'edits' | 'isSuperseded' | 'isCommitted' | 'firstRetry'>,
  ): Call {
    const { uid, id, process, version, retry } = call
    const before = this.#last.get(`${uid} ${id}`)
    const isSameCycle = before?.end === 'retry' && before.process === process && before.version === version
    const begun: Call = {
      ...call,
      firstRetry: isSameCycle ? before.firstRetry : retry,
      atMs: this.#clock.now(),
      brokenWrites: this.brokenWrites(uid),
      edits: this.#edits.get(uid) ?? 0,
      end: 'running',
      isSuperseded: false,
      isCommitted: false,
    }
    this.calls.push(begun)
    // Sub-handlers see the same object as the call of their parent.
    if (!id.includes('/')) this.checkVersion({ ...begun, who: `"${id}" of ${begun.name}` })
    this.#checkGone(begun)
    this.#checkRetry(begun, before)
    this.#supersede(begun)
    this.#last.set(`${uid} ${id}`, begun)
    return begun
  }

  /** Marks finished calls for other states as superseded; field handlers are compared only with themselves. */
  #supersede({ uid, id, new: state }: Call): void {
    for (const [key, done] of this.#lastDone) {
      const isAlike = done.id === id || (id !== 'sized' && done.id !== 'sized')
      if (key.startsWith(uid) && isAlike && done.new !== state) done.isSuperseded = true
    }
  }

  finish(call: Call, end: Call['end']): void {
    call.end = end
    if (end === 'retry') return
    const key = `${call.uid} ${call.id}`
    if (end === 'done') this.#checkRepeated(call, this.#lastDone.get(key))
    this.#lastDone.set(key, call)
  }

  lastDone(uid: string, id: string): Call | undefined {
    return this.#lastDone.get(`${uid} ${id}`)
  }

  sawVersion(process: number, uid: string, version: number): void {
    const key = `${process} ${uid}`
    this.#versions.set(key, Math.max(version, this.#versions.get(key) ?? 0))
  }

  /** A write of this object was stored; it contains the records of the previous calls unless it was to the status. */
  committed(process: number, uid: string, subresource: string): void {
    if (subresource !== '') {
      this.#half.set(uid, process)
      return
    }
    this.#half.delete(uid)
    for (const [key, call] of this.#lastDone) {
      if (key.startsWith(uid) && call.process === process) call.isCommitted = true
    }
  }

  crashed(process: number): void {
    this.crashes += 1
    for (const [uid, by] of this.#half) if (by === process) this.#torn.set(uid, this.#edits.get(uid) ?? 0)
  }

  /**
   * Whether the process was killed between the write of the status and the write of its record, without an edit
   * since. The status may belong to a state that was reverted and is not recorded: a known limitation.
   */
  isTorn(uid: string): boolean {
    return this.#torn.has(uid) && this.#torn.get(uid) === (this.#edits.get(uid) ?? 0)
  }

  sawGone(process: number, uid: string, version: number): void {
    this.#gone.set(`${process} ${uid}`, { atMs: this.#clock.now(), version, isBack: false })
  }

  goneMs(process: number, uid: string): number | undefined {
    const gone = this.#gone.get(`${process} ${uid}`)
    return gone?.isBack ? undefined : gone?.atMs
  }

  /** The last time at which the object left the label selector or was deleted. */
  outOfSightMs(process: number, uid: string): number | undefined {
    return this.#gone.get(`${process} ${uid}`)?.atMs
  }

  /**
   * Records the essence of a received state. A read by name may return a successor of the object, which the operator
   * ignores, so the states are kept both with and without reads.
   */
  sawState(process: number, state: SeenState, isRead: boolean): void {
    const key = `${process} ${state.uid}`
    const gone = this.#gone.get(key)
    if (gone !== undefined && state.version > gone.version) gone.isBack = true
    if (!isRead) this.#noteState(key, state)
    this.#noteState(`${key} or read`, state)
  }

  #noteState(key: string, { version, essence }: SeenState): void {
    const before = this.#states.get(key)
    if (before !== undefined && version <= before.version) return
    const sinceMs = before?.essence === essence ? before.sinceMs : this.#clock.now()
    this.#states.set(key, { version, essence, sinceMs })
  }

  /** The time of the last change of the object that the process has received; undefined if it has not seen the object. */
  changedMs(process: number, uid: string): number | undefined {
    const shown = this.#states.get(`${process} ${uid}`)
    const read = this.#states.get(`${process} ${uid} or read`)
    return shown && Math.min(shown.sinceMs, read?.sinceMs ?? Infinity)
  }

  refusedWrite(uid: string): void {
    this.#refused.set(uid, (this.#refused.get(uid) ?? 0) + 1)
  }

  /** Number of events that may have lost a write of the object. */
  refusals(uid: string): number {
    return this.crashes + this.hastyStops + (this.#refused.get(uid) ?? 0)
  }

  brokeWrite(uid: string): void {
    this.#broken.set(uid, (this.#broken.get(uid) ?? 0) + 1)
  }

  edited(uid: string): void {
    this.changes += 1
    this.#edits.set(uid, (this.#edits.get(uid) ?? 0) + 1)
  }

  brokenWrites(uid: string): number {
    return this.crashes + (this.#broken.get(uid) ?? 0)
  }

  /** P2, P3: the object is never older than a state that was seen or written. */
  checkVersion({
    process,
    uid,
    version,
    who,
  }: Pick<Call, 'process' | 'uid' | 'version'> & { readonly who: string }): void {
    const seen = this.#versions.get(`${process} ${uid}`) ?? 0
    if (version < seen) this.violate('P2', `${who} is shown version ${version} after ${seen}`)
    this.sawVersion(process, uid, version)
  }

  /** Running handlers may continue for a while, but no handler starts for an object that was deleted long ago. */
  #checkGone({ process, uid, id, name }: Call): void {
    const goneMs = this.goneMs(process, uid)
    if (goneMs === undefined || this.#clock.now() - goneMs < 60_000) return
    this.violate('P7', `"${id}" is called for ${name} long after it was gone`)
  }

  /** P4: a handler that has succeeded for a change is not called again for the same change. */
  #checkRepeated(call: Call, before: Call | undefined): void {
    if (before === undefined || before.end !== 'done' || before.isSuperseded) return
    // Each process resumes the existing objects.
    if (call.id === 'back' && call.process !== before.process) return
    if (before.reason !== call.reason || before.old !== call.old || before.new !== call.new) return
    if (this.brokenWrites(call.uid) > before.brokenWrites) return
    this.violate('P4', `"${call.id}" of ${call.name} was called twice for ${call.reason} ${call.old} -> ${call.new}`)
  }

  /** P4: the number of attempts continues, also after a restart. */
  #checkRetry(call: Call, before: Call | undefined): void {
    if (before?.end !== 'retry' || (call.reason === 'delete') !== (before.reason === 'delete')) return
    if (call.retry === before.retry + 1) return
    const isBroken = this.brokenWrites(call.uid) > before.brokenWrites
    // A killed process loses the unwritten attempts of its last cycle.
    if (isBroken && call.retry >= before.firstRetry && call.retry <= before.retry) return
    // The previous change may have been reverted, and this is another one.
    if (call.retry === 0 && (call.new !== before.new || call.edits > before.edits)) return
    this.violate('P4', `"${call.id}" of ${call.name} is in attempt ${call.retry} after ${before.retry}`)
  }

  #time(): string {
    return new Date(this.#clock.now()).toISOString().slice(11, 23)
  }
}
