/**
 * Makes the children of an object be as they are wanted: plan.ts says what to do, this does it, until there is nothing more to do
 * for now. A child that is refused holds up none of its siblings. Called by reconciling/object-reconcilers.ts after the function of the user.
 */

import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { Semaphore } from '../../util/async/semaphore.ts'
import { describeError } from '../../util/log/describe-error.ts'
import type { Logger } from '../../util/log/log.ts'
import { type ChildDrift, detectDrift } from '../drift/drift.ts'
import type { ChildCache, OwnerKeyOfChild } from '../sources/child-cache.ts'
import { type Contention, isContended, isOver, reactToContention, settledMs } from './contention.ts'
import type { DesiredChild, DesiredGroup } from './desired.ts'
import { whyForeign } from './existing-child.ts'
import { childKey, describeChild, describePlace } from './labels.ts'
import { type ChildrenPlan, type PlannedApply, planChildren, planDeletions } from './plan.ts'
import {
  type AppliedChild,
  type ApplyTarget,
  applyChild,
  type ChildWriter,
  deleteChild,
  describeRefusal,
  findExisting,
  isOtherObject,
} from './requests.ts'
import { SyncReport } from './sync-report.ts'
import { recordUnmanaged, type UnmanagedChild } from './unmanaged-children.ts'

/** Where the children of the object are known, and how they are written. */
export interface ChildClient {
  readonly writer: ChildWriter
  readonly logger: Logger
  readonly nowMs: () => number
  /** Those of the object and the reconciler, as they are known now. */
  present(): ReadonlyArray<{ readonly resource: Resource; readonly cache: ChildCache; readonly object: KubeObject }>
  cacheOf(resource: Resource): ChildCache
  /** Why nothing can be known of a kind, as the end of a sentence. */
  whyUnseen(wanted: DesiredChild): string | undefined
  /** Who else has made a child of that name, as the end of a sentence. */
  competitorOf(wanted: DesiredChild): string | undefined
  readonly own: OwnerKeyOfChild
  /** Told of every write that has changed something, and to what end: the child is there now, is another, or is gone. */
  onWritten(child: KubeObject, end: 'new' | 'changed' | 'gone'): void
  /** Told of those whose child it was, or is. */
  onMoved(concerned: readonly OwnerKeyOfChild[]): void
  /** Reports an event about a child to the observer. */
  report(event: 'childApplied' | 'childDeleted' | 'contentionFound', resource: Resource, child: KubeObject): void
  /** Logs the message once per resource. */
  warnOnce(resource: Resource, message: string): void
}

/** What is remembered of the children of one object from call to call; lost with the process, which harms nobody. */
export interface ChildRecords {
  /** By key: those that are changed again and again. */
  readonly contentions: Map<string, Contention>
  /** The uids of those that were made or seen, and not deleted by us since, by key. */
  readonly uids: Map<string, string>
  /** Objects of others under the names of children, which are left alone, by key. */
  readonly unmanaged: Map<string, UnmanagedChild>
}

/** So many requests for one object at once. */
const maxConcurrent = 8

/** A child has changed since it was looked at: its event is on the way, or lost. */
const staleMs = 1000

export async function syncChildren(
  children: ChildClient,
  { groups, isDeleting }: { readonly groups: readonly DesiredGroup[]; readonly isDeleting: boolean },
  records: ChildRecords,
): Promise<SyncReport> {
  const sync = new ChildrenSync(children, records)
  // Each child at most once: whatever becomes of it, the next call will see.
  for (;;) {
    const plan = sync.plan(groups, isDeleting)
    if (!(await sync.carryOut(plan))) return sync.finish(plan)
  }
}

class ChildrenSync {
  readonly #children: ChildClient
  readonly #records: ChildRecords
  readonly #report = new SyncReport()
  /** Those that were seen to, by key. */
  readonly #done = new Set<string>()
  readonly #turns = new Semaphore(maxConcurrent)
  /** As they were when this began, by key. */
  readonly #contentionsBefore: ReadonlyMap<string, Contention>

  constructor(children: ChildClient, records: ChildRecords) {
    this.#children = children
    this.#records = records
    this.#contentionsBefore = new Map(records.contentions)
  }

  plan(groups: readonly DesiredGroup[], isDeleting: boolean): ChildrenPlan {
    const { writer, cacheOf, whyUnseen, nowMs } = this.#children
    const present = this.#children.present().map(({ object }) => object)
    this.#updateRecords(groups, present)
    if (isDeleting) {
      const waits: string[] = []
      return { applies: [], deletions: planDeletions({ groups, present }, waits), waits, unseen: [] }
    }
    return planChildren({
      groups,
      present,
      whyUnseen: (wanted) => whyUnseen(wanted),
      isLeft: ({ key, existing }) => existing === 'leave' && (this.#records.unmanaged.get(key)?.nextMs ?? 0) > nowMs(),
      judge: (wanted, live) => {
        const normalised = cacheOf(wanted.kind.resource!).normalisedOf(live)
        return detectDrift(wanted, live, { fieldManager: writer.fieldManager, normalised })
      },
    })
  }

  /** Remembers the uids of children that are there or wanted, and forgets what is known of others. */
  #updateRecords(groups: readonly DesiredGroup[], present: readonly KubeObject[]): void {
    const { uids, unmanaged } = this.#records
    const wanted = new Map(groups.flatMap(({ children }) => children.map(({ key, existing }) => [key, existing])))
    for (const key of uids.keys()) if (!wanted.has(key)) uids.delete(key)
    for (const key of unmanaged.keys()) if (wanted.get(key) !== 'leave') unmanaged.delete(key)
    for (const child of present) {
      const key = childKey(child)
      uids.set(key, child.metadata.uid ?? '')
      unmanaged.delete(key)
    }
  }

  /** Whether anything was done. */
  async carryOut({ applies, deletions }: ChildrenPlan): Promise<boolean> {
    const due = applies.filter((one) => !this.#done.has(one.wanted.key) && this.#mayPutBack(one))
    const superfluous = deletions.filter((child) => !this.#done.has(childKey(child)))
    for (const { wanted } of due) this.#done.add(wanted.key)
    for (const child of superfluous) this.#done.add(childKey(child))
    await Promise.all([
      ...due.map((one) => this.#inTurn(() => this.#apply(one))),
      ...superfluous.map((child) => this.#inTurn(() => this.#delete(child))),
    ])
    return due.length + superfluous.length > 0
  }

  finish({ waits, unseen }: ChildrenPlan): SyncReport {
    const { nowMs } = this.#children
    this.#report.waits = waits
    this.#report.isUnsynced = unseen.length > 0
    for (const { name, nextMs } of this.#records.unmanaged.values()) {
      this.#report.left.push(name)
      this.#report.lookAgainAfter(Math.max(0, nextMs - nowMs()))
    }
    for (const message of unseen) this.#report.problems.push({ reason: 'KindMissing', message })
    for (const [key, fight] of this.#records.contentions) {
      if (isOver(fight, nowMs())) this.#records.contentions.delete(key)
      else if (isContended(fight)) this.#noteFight(fight)
    }
    return this.#report
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const over = await this.#turns.acquire()
    await work().finally(over)
  }

  async #apply({ wanted, live }: PlannedApply): Promise<void> {
    const { writer, logger, warnOnce } = this.#children
    const what = describeChild(wanted.object)
    const competitor = this.#children.competitorOf(wanted)
    if (competitor !== undefined) return this.#refuseForeign(wanted, competitor)
    logger.debug(`Applying ${what}${live === undefined ? ', which is not there' : ''}.`)
    try {
      const applied = await this.#write(wanted, live)
      if (applied === undefined) return
      if (typeof applied === 'string') return this.#refuseForeign(wanted, applied)
      const { child, dropped, concerned } = applied
      if (child.metadata.resourceVersion !== live?.metadata.resourceVersion) {
        this.#children.onWritten(child, live === undefined ? 'new' : 'changed')
        this.#children.report('childApplied', wanted.kind.resource!, child)
      }
      this.#children.onMoved(concerned)
      this.#records.uids.set(wanted.key, child.metadata.uid ?? '')
      if (dropped.length > 0) {
        warnOnce(
          wanted.kind.resource!,
          `The server does not keep all that is wanted of ${what}: ${dropped.slice(0, 3).join(', ')}`,
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
  async #write(wanted: DesiredChild, live: KubeObject | undefined): Promise<AppliedChild | string | undefined> {
    const { writer, own } = this.#children
    const resource = wanted.kind.resource!
    const cache = this.#children.cacheOf(resource)
    const known: ApplyTarget | undefined = live && { type: 'known', uid: live.metadata.uid ?? '' }
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
  #refuseForeign(wanted: DesiredChild, why: string): void {
    if (wanted.existing !== 'leave') {
      this.#refuse(wanted, why)
      return
    }
    const { logger, nowMs } = this.#children
    const { unmanaged: left } = this.#records
    const name = this.#describe(wanted.object)
    const before = left.get(wanted.key)
    left.set(wanted.key, recordUnmanaged(before, name, nowMs()))
    this.#forgetFight(wanted.key)
    if (before === undefined) logger.info(`${name} is left alone: it exists, and is not a child of this object.`)
  }

  /** What was not put back is no turn in a fight: nobody has changed it since. */
  #refuse({ key, object }: DesiredChild, why: string): void {
    this.#forgetFight(key)
    this.#report.fail(`Cannot apply ${this.#describe(object)}: ${why}`)
  }

  #forgetFight(key: string): void {
    const { contentions } = this.#records
    const before = this.#contentionsBefore.get(key)
    if (before !== undefined) contentions.set(key, before)
    else contentions.delete(key)
  }

  /** With its namespace where that is not the owner's: a cluster-scoped owner may have a child of one name in many. */
  #describe(object: object): string {
    return `${describeChild(object)}${describePlace(object, this.#children.own.namespace)}`
  }

  async #delete(child: KubeObject): Promise<void> {
    const { writer, logger } = this.#children
    const what = describeChild(child)
    const found = this.#children.present().find(({ object }) => object === child)
    if (found === undefined) return
    logger.debug(`Deleting ${what}, which is no longer wanted.`)
    try {
      this.#records.uids.delete(childKey(child))
      const left = await deleteChild(writer, child, found)
      if (left === 'changed') return this.#report.lookAgainAfter(staleMs)
      this.#children.onWritten(left ?? child, left === undefined ? 'gone' : 'changed')
      this.#children.report('childDeleted', found.resource, child)
    } catch (error) {
      writer.signal.throwIfAborted()
      this.#report.fail(`Cannot delete ${what}: ${describeError(error)}`)
    }
  }

  /** What others have changed is put back; unless they do so again and again. */
  #mayPutBack({ wanted, judgement }: PlannedApply): boolean {
    const { nowMs, logger, writer } = this.#children
    const { contentions, uids } = this.#records
    const { key, object } = wanted
    if (judgement.type === 'changed' || (judgement.type === 'missing' && !uids.has(key))) return true
    const words =
      judgement.type === 'missing'
        ? `"${writer.fieldManager}" makes ${describeChild(object)}, and somebody deletes it`
        : describeAdoption(writer.fieldManager, judgement, describeChild(object))
    const { fight, waitMs, isNew } = reactToContention(contentions.get(key), words, nowMs())
    contentions.set(key, fight)
    if (isNew) {
      logger.warn(`${words}, by turns: it is put back ever more seldom; let one of them leave it to the other`)
      this.#children.report('contentionFound', wanted.kind.resource!, object as KubeObject)
    }
    return waitMs === 0
  }

  #noteFight(fight: Contention): void {
    const nowMs = this.#children.nowMs()
    this.#report.problems.push({ reason: 'ChildContested', message: fight.words })
    this.#report.lookAgainAfter(fight.heldUntilMs === undefined ? settledMs(fight, nowMs) : fight.heldUntilMs - nowMs)
  }
}

function describeAdoption(ours: string, { fields, by }: Extract<ChildDrift, { type: 'taken' }>, what: string): string {
  const rivals = by.length === 0 ? 'somebody else' : by.map((name) => `"${name}"`).join(' and ')
  return `"${ours}" and ${rivals} both write ${fields.slice(0, 3).join(', ')} of ${what}`
}
