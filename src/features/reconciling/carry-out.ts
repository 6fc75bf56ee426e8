/**
 * Makes the children of an object be as they are wanted: plan.ts says what to do, this does it, until there is nothing more to do
 * for now. A child that is refused holds up none of its siblings. Called by running/reconciling.ts after the function of the user.
 */
import { describeError } from '../../core/handling/outcomes.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import type { Logger } from '../../util/log.ts'
import { Turns } from '../../util/turns.ts'
import { type Judgement, judgeChild } from './as-wanted.ts'
import type { ChildCache, Parentage } from './child-cache.ts'
import { describeChild, describePlace, keyOfChild } from './child-names.ts'
import { whyForeign } from './existing-child.ts'
import { type Fight, isFight, isOver, peaceMs, react } from './fights.ts'
import { type LeftAlone, leaveAlone } from './left-alone.ts'
import { type Apply, makePlan, type Plan, planDeletions } from './plan.ts'
import { Report } from './report.ts'
import type { Wanted, WantedGroup } from './wanted.ts'
import {
  type Applied,
  applyChild,
  type ChildWriter,
  deleteChild,
  describeRefusal,
  findExisting,
  isOtherObject,
  type Target,
} from './writes.ts'

/** Where the children of the object are known, and how they are written. */
export interface Nursery {
  readonly writer: ChildWriter
  readonly logger: Logger
  readonly nowMs: () => number
  /** Those of the object and the reconciler, as they are known now. */
  present(): ReadonlyArray<{ readonly resource: Resource; readonly cache: ChildCache; readonly object: KubeObject }>
  cacheOf(resource: Resource): ChildCache
  /** Why nothing can be known of a kind, as the end of a sentence. */
  whyUnseen(wanted: Wanted): string | undefined
  /** Who else has made a child of that name, as the end of a sentence. */
  rivalOf(wanted: Wanted): string | undefined
  readonly own: Parentage
  /** Told of every write that has changed something, and to what end: the child is there now, is another, or is gone. */
  onWritten(child: KubeObject, end: 'new' | 'changed' | 'gone'): void
  /** Told of those whose child it was, or is. */
  onMoved(concerned: readonly Parentage[]): void
  /** Says it once for the kind. */
  warnOnce(resource: Resource, message: string): void
}

/** What is remembered of the children of one object from call to call; lost with the process, which harms nobody. */
export interface ChildRecords {
  /** By key: those that are changed again and again. */
  readonly fights: Map<string, Fight>
  /** The uids of those that were made or seen, and not deleted by us since, by key. */
  readonly uids: Map<string, string>
  /** Objects of others under the names of children, which are left alone, by key. */
  readonly left: Map<string, LeftAlone>
}

/** So many requests for one object at once. */
const mostAtOnce = 8

/** A child has changed since it was looked at: its event is on the way, or lost. */
const staleMs = 1000

export async function carryOut(
  nursery: Nursery,
  { groups, isDeleting }: { readonly groups: readonly WantedGroup[]; readonly isDeleting: boolean },
  records: ChildRecords,
): Promise<Report> {
  const errand = new Errand(nursery, records)
  // Each child at most once: whatever becomes of it, the next call will see.
  for (;;) {
    const plan = errand.plan(groups, isDeleting)
    if (!(await errand.carryOut(plan))) return errand.finish(plan)
  }
}

class Errand {
  readonly #nursery: Nursery
  readonly #records: ChildRecords
  readonly #report = new Report()
  /** Those that were seen to, by key. */
  readonly #done = new Set<string>()
  readonly #turns = new Turns(mostAtOnce)
  /** As they were when this began, by key. */
  readonly #fightsBefore: ReadonlyMap<string, Fight>

  constructor(nursery: Nursery, records: ChildRecords) {
    this.#nursery = nursery
    this.#records = records
    this.#fightsBefore = new Map(records.fights)
  }

  plan(groups: readonly WantedGroup[], isDeleting: boolean): Plan {
    const { writer, cacheOf, whyUnseen, nowMs } = this.#nursery
    const present = this.#nursery.present().map(({ object }) => object)
    this.#updateRecords(groups, present)
    if (isDeleting) {
      const waits: string[] = []
      return { applies: [], deletions: planDeletions({ groups, present }, waits), waits, unseen: [] }
    }
    return makePlan({
      groups,
      present,
      whyUnseen: (wanted) => whyUnseen(wanted),
      isLeft: ({ key, existing }) => existing === 'leave' && (this.#records.left.get(key)?.nextMs ?? 0) > nowMs(),
      judge: (wanted, live) => {
        const normalised = cacheOf(wanted.kind.resource!).normalisedOf(live)
        return judgeChild(wanted, live, { fieldManager: writer.fieldManager, normalised })
      },
    })
  }

  /** Remembers the uids of children that are there or wanted, and forgets what is known of others. */
  #updateRecords(groups: readonly WantedGroup[], present: readonly KubeObject[]): void {
    const { uids, left } = this.#records
    const wanted = new Map(groups.flatMap(({ children }) => children.map(({ key, existing }) => [key, existing])))
    for (const key of uids.keys()) if (!wanted.has(key)) uids.delete(key)
    for (const key of left.keys()) if (wanted.get(key) !== 'leave') left.delete(key)
    for (const child of present) {
      const key = keyOfChild(child)
      uids.set(key, child.metadata.uid ?? '')
      left.delete(key)
    }
  }

  /** Whether anything was done. */
  async carryOut({ applies, deletions }: Plan): Promise<boolean> {
    const due = applies.filter((one) => !this.#done.has(one.wanted.key) && this.#mayPutBack(one))
    const superfluous = deletions.filter((child) => !this.#done.has(keyOfChild(child)))
    for (const { wanted } of due) this.#done.add(wanted.key)
    for (const child of superfluous) this.#done.add(keyOfChild(child))
    await Promise.all([
      ...due.map((one) => this.#inTurn(() => this.#apply(one))),
      ...superfluous.map((child) => this.#inTurn(() => this.#delete(child))),
    ])
    return due.length + superfluous.length > 0
  }

  finish({ waits, unseen }: Plan): Report {
    const { nowMs } = this.#nursery
    this.#report.waits = waits
    this.#report.isBlind = unseen.length > 0
    for (const { name, nextMs } of this.#records.left.values()) {
      this.#report.left.push(name)
      this.#report.lookAgainAfter(Math.max(0, nextMs - nowMs()))
    }
    for (const message of unseen) this.#report.problems.push({ reason: 'KindMissing', message })
    for (const [key, fight] of this.#records.fights) {
      if (isOver(fight, nowMs())) this.#records.fights.delete(key)
      else if (isFight(fight)) this.#noteFight(fight)
    }
    return this.#report
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const over = await this.#turns.take()
    await work().finally(over)
  }

  async #apply({ wanted, live }: Apply): Promise<void> {
    const { writer, logger, warnOnce } = this.#nursery
    const what = describeChild(wanted.object)
    const rival = this.#nursery.rivalOf(wanted)
    if (rival !== undefined) return this.#refuseForeign(wanted, rival)
    logger.debug(`Applying ${what}${live === undefined ? ', which is not there' : ''}.`)
    try {
      const applied = await this.#write(wanted, live)
      if (applied === undefined) return
      if (typeof applied === 'string') return this.#refuseForeign(wanted, applied)
      const { child, unkept, concerned } = applied
      if (child.metadata.resourceVersion !== live?.metadata.resourceVersion) {
        this.#nursery.onWritten(child, live === undefined ? 'new' : 'changed')
      }
      this.#nursery.onMoved(concerned)
      this.#records.uids.set(wanted.key, child.metadata.uid ?? '')
      if (unkept.length > 0) {
        warnOnce(
          wanted.kind.resource!,
          `The server does not keep all that is wanted of ${what}: ${unkept.slice(0, 3).join(', ')}`,
        )
      }
    } catch (error) {
      writer.signal.throwIfAborted()
      this.#refuse(wanted, describeRefusal(error, wanted))
    }
  }

  /**
   * Applies a child to the object that is ours, or creates it. Returns why not where the name belongs to another object; undefined where
   * the child was gone meanwhile, which the next call sees.
   */
  async #write(wanted: Wanted, live: KubeObject | undefined): Promise<Applied | string | undefined> {
    const { writer, own } = this.#nursery
    const resource = wanted.kind.resource!
    const cache = this.#nursery.cacheOf(resource)
    const known: Target | undefined = live && { type: 'known', uid: live.metadata.uid ?? '' }
    const target = known ?? { type: wanted.existing === 'adopt' ? 'any' : 'new' }
    try {
      return await applyChild(writer, { wanted, target }, { resource, cache })
    } catch (error) {
      if (!isOtherObject(error)) throw error
      const found = await findExisting(writer, wanted, resource)
      if (found === undefined && live === undefined) throw error
      if (live !== undefined && found?.uid !== live.metadata.uid) cache.remove(live, { isForGood: true })
      if (found === undefined) return void this.#report.lookAgainAfter(staleMs)
      const why = whyForeign(found, { own, wanted, knownUid: this.#records.uids.get(wanted.key) })
      if (why !== undefined) return why
      return await applyChild(writer, { wanted, target: { type: 'known', uid: found.uid ?? '' } }, { resource, cache })
    }
  }

  /** The name of the child belongs to another object. */
  #refuseForeign(wanted: Wanted, why: string): void {
    if (wanted.existing !== 'leave') {
      this.#refuse(wanted, why)
      return
    }
    const { logger, nowMs } = this.#nursery
    const { left } = this.#records
    const name = this.#describe(wanted.object)
    const before = left.get(wanted.key)
    left.set(wanted.key, leaveAlone(before, name, nowMs()))
    this.#forgetFight(wanted.key)
    if (before === undefined) logger.info(`${name} is left alone: it exists, and is not a child of this object.`)
  }

  /** What was not put back is no turn in a fight: nobody has changed it since. */
  #refuse({ key, object }: Wanted, why: string): void {
    this.#forgetFight(key)
    this.#report.fail(`Cannot apply ${this.#describe(object)}: ${why}`)
  }

  #forgetFight(key: string): void {
    const { fights } = this.#records
    const before = this.#fightsBefore.get(key)
    if (before !== undefined) fights.set(key, before)
    else fights.delete(key)
  }

  /** With its namespace where that is not the owner's: a cluster-scoped owner may have a child of one name in many. */
  #describe(object: object): string {
    return `${describeChild(object)}${describePlace(object, this.#nursery.own.namespace)}`
  }

  async #delete(child: KubeObject): Promise<void> {
    const { writer, logger } = this.#nursery
    const what = describeChild(child)
    const found = this.#nursery.present().find(({ object }) => object === child)
    if (found === undefined) return
    logger.debug(`Deleting ${what}, which is no longer wanted.`)
    try {
      this.#records.uids.delete(keyOfChild(child))
      const left = await deleteChild(writer, child, found)
      if (left === 'changed') this.#report.lookAgainAfter(staleMs)
      else this.#nursery.onWritten(left ?? child, left === undefined ? 'gone' : 'changed')
    } catch (error) {
      writer.signal.throwIfAborted()
      this.#report.fail(`Cannot delete ${what}: ${describeError(error)}`)
    }
  }

  /** What others have changed is put back; unless they do so again and again. */
  #mayPutBack({ wanted, judgement }: Apply): boolean {
    const { nowMs, logger, writer } = this.#nursery
    const { fights, uids } = this.#records
    const { key, object } = wanted
    if (judgement.type === 'changed' || (judgement.type === 'missing' && !uids.has(key))) return true
    const words =
      judgement.type === 'missing'
        ? `"${writer.fieldManager}" makes ${describeChild(object)}, and somebody deletes it`
        : describeTaking(writer.fieldManager, judgement, describeChild(object))
    const { fight, waitMs, isNew } = react(fights.get(key), words, nowMs())
    fights.set(key, fight)
    if (isNew) logger.warn(`${words}, by turns: it is put back ever more seldom; let one of them leave it to the other`)
    return waitMs === 0
  }

  #noteFight(fight: Fight): void {
    const nowMs = this.#nursery.nowMs()
    this.#report.problems.push({ reason: 'ChildContested', message: fight.words })
    this.#report.lookAgainAfter(fight.heldUntilMs === undefined ? peaceMs(fight, nowMs) : fight.heldUntilMs - nowMs)
  }
}

function describeTaking(ours: string, { fields, by }: Extract<Judgement, { type: 'taken' }>, what: string): string {
  const rivals = by.length === 0 ? 'somebody else' : by.map((name) => `"${name}"`).join(' and ')
  return `"${ours}" and ${rivals} both write ${fields.slice(0, 3).join(', ')} of ${what}`
}
