/**
 * What happened in a simulation: each call of a handler, each write of the operator, each state it was shown; and which
 * properties were seen broken on the way. Written by the handlers and the wire, read by the checks at the end.
 */
import type { Clock } from '../../src/util/clock.ts'

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
  /** The number of the first attempt in the same cycle: a handler may be called again in it, and one write is for all of them. */
  readonly firstRetry: number
  /** JSON of what the handler was told. */
  readonly old: string
  readonly new: string
  /** How many writes of this object had failed, or had got lost, before the call; likewise how often it was edited. */
  readonly brokenWrites: number
  readonly edits: number
  end: 'running' | 'done' | 'retry' | 'failed'
  /** Something was written after it. */
  isCommitted: boolean
  /** It was called for another state since. */
  isSuperseded: boolean
}

/** A state that a process is shown. */
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
  /** The last call by uid and handler. */
  readonly #last = new Map<string, Call>()
  /** The last call that came to its end, likewise. */
  readonly #lastDone = new Map<string, Call>()
  /** Writes of an object, by uid, that failed or whose answer never came; a crash counts for all. */
  readonly #broken = new Map<string, number>()
  readonly #edits = new Map<string, number>()
  crashes = 0
  /** How often a process was stopped that perhaps could not write what was left to write. */
  hastyStops = 0
  /** By uid: the process whose last write was to the status; and how often the object had been edited when it was killed. */
  readonly #half = new Map<string, number>()
  readonly #torn = new Map<string, number>()
  /** The highest version each process has seen or written, by process and uid. */
  readonly #versions = new Map<string, number>()
  /** When a process was told that an object is gone, and as of which version. */
  readonly #gone = new Map<string, { readonly atMs: number; readonly version: number; isBack: boolean }>()
  /** What a process was shown last of an object, and since when it is so. */
  readonly #states = new Map<string, { readonly version: number; readonly essence: string; readonly sinceMs: number }>()
  /** Writes of an object, by uid, that the server did not want. */
  readonly #refused = new Map<string, number>()
  readonly #clock: Clock
  /** Called when the first handler of a process is; and the last process that had any. */
  readonly #onFirstCall: () => void
  #called = 0
  patches = 0
  /** Writes that have changed nothing. */
  idleWrites = 0
  requests = 0
  changes = 0
  lastWriteMs = 0
  /** Situations that it has come to: what was never reached was never checked. */
  readonly reached: Set<string> = new Set()
  /** The story, for whoever looks into a failure. */
  readonly story: string[] = []

  constructor(clock: Clock, onFirstCall: () => void) {
    this.#clock = clock
    this.#onFirstCall = onFirstCall
  }

  /** Told of every call, of whatever handler. */
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
    // Sub-handlers belong to one call of their parent, and see what it sees.
    if (!id.includes('/')) this.checkVersion({ ...begun, who: `"${id}" of ${begun.name}` })
    this.#checkGone(begun)
    this.#checkRetry(begun, before)
    this.#supersede(begun)
    this.#last.set(`${uid} ${id}`, begun)
    return begun
  }

  /** It has been otherwise since, be it only for others; those who are told of a field alone are not comparable. */
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

  /** A write of this object was served: with the records of what was called before, unless it was to the status. */
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
   * Whether it was killed right between the writes of the status and of the record that belongs to it, and nothing was
   * edited since. The status is for a state of which nothing tells then, and that may have been taken back: a known gap.
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

  /** When it was last out of sight, though it was not gone: the server is asked for certain labels only. */
  outOfSightMs(process: number, uid: string): number | undefined {
    return this.#gone.get(`${process} ${uid}`)?.atMs
  }

  /**
   * It is shown, in what counts as its essence. What was asked for by name may be a successor of what was meant, of which
   * nobody takes notice then: so both is kept, what follows with it and what follows without.
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

  /** When the process was shown that the object is other than before; undefined when it has not seen it. */
  changedMs(process: number, uid: string): number | undefined {
    const shown = this.#states.get(`${process} ${uid}`)
    const read = this.#states.get(`${process} ${uid} or read`)
    return shown && Math.min(shown.sinceMs, read?.sinceMs ?? Infinity)
  }

  refusedWrite(uid: string): void {
    this.#refused.set(uid, (this.#refused.get(uid) ?? 0) + 1)
  }

  /** How often what was to be written of the object can have been given up. */
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

  /** P2, P3: never older than what was seen or written. */
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

  /** Handlers that are under way may go on for a while; nothing is begun for what has long been gone. */
  #checkGone({ process, uid, id, name }: Call): void {
    const goneMs = this.goneMs(process, uid)
    if (goneMs === undefined || this.#clock.now() - goneMs < 60_000) return
    this.violate('P7', `"${id}" is called for ${name} long after it was gone`)
  }

  /** P4: what has succeeded for a change is not called again for the same one. */
  #checkRepeated(call: Call, before: Call | undefined): void {
    if (before === undefined || before.end !== 'done' || before.isSuperseded) return
    // Each process has to take over what is there.
    if (call.id === 'back' && call.process !== before.process) return
    if (before.reason !== call.reason || before.old !== call.old || before.new !== call.new) return
    if (this.brokenWrites(call.uid) > before.brokenWrites) return
    this.violate('P4', `"${call.id}" of ${call.name} was called twice for ${call.reason} ${call.old} -> ${call.new}`)
  }

  /** P4: attempts are counted on, over restarts too. */
  #checkRetry(call: Call, before: Call | undefined): void {
    if (before?.end !== 'retry' || (call.reason === 'delete') !== (before.reason === 'delete')) return
    if (call.retry === before.retry + 1) return
    const isBroken = this.brokenWrites(call.uid) > before.brokenWrites
    // What is not written is lost with the process: all attempts of the last cycle.
    if (isBroken && call.retry >= before.firstRetry && call.retry <= before.retry) return
    // The change that it was begun for may have vanished, and this is another one.
    if (call.retry === 0 && (call.new !== before.new || call.edits > before.edits)) return
    this.violate('P4', `"${call.id}" of ${call.name} is in attempt ${call.retry} after ${before.retry}`)
  }

  #time(): string {
    return new Date(this.#clock.now()).toISOString().slice(11, 23)
  }
}
