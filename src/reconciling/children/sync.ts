/**
 * Brings the children of an object to the desired state: executes the plans of plan.ts until a plan has nothing left to do. A child that the server
 * rejects does not stop its siblings. Called by object-reconcilers.ts after the function of the user.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { Semaphore } from '../../util/async/semaphore.ts'
import { describeError } from '../../util/log/describe-error.ts'
import type { Logger } from '../../util/log/log.ts'
import { type ChildDrift, detectDrift } from '../drift/drift.ts'
import type { ChildCache, OwnerKeyOfChild } from '../sources/child-cache.ts'
import { type Contention, isContended, isOver, reactToContention, remainingQuietMs } from './contention.ts'
import type { DesiredChild, DesiredGroup } from './desired.ts'
import { recordUnmanaged, type UnmanagedChild, whyForeign } from './existing-objects.ts'
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

/** Access to the children of one object and one reconciler. Implemented by child-client.ts. */
export interface ChildClient {
  readonly writer: ChildWriter
  readonly logger: Logger
  readonly nowMs: () => number
  /** The newest known states of the existing children. */
  present(): ReadonlyArray<{ readonly resource: Resource; readonly cache: ChildCache; readonly object: KubeObject }>
  cacheOf(resource: Resource): ChildCache
  /** Why existing children of the kind are not listed, as the end of a sentence; undefined if they are. */
  whyUnlisted(desired: DesiredChild): string | undefined
  /** The other parent or reconciler that has a child of that name, as the end of a sentence; undefined if there is none. */
  competitorOf(desired: DesiredChild): string | undefined
  readonly own: OwnerKeyOfChild
  /** Called after every write that created, changed or deleted a child. */
  onWritten(child: KubeObject, effect: 'new' | 'changed' | 'gone'): void
  /** Called after an apply with the owners that the child had before and has now. */
  onMoved(affected: readonly OwnerKeyOfChild[]): void
  /** Reports an event about a child to the observer. */
  report(event: 'childApplied' | 'childDeleted' | 'contentionFound', resource: Resource, child: KubeObject): void
  /** Logs a warning once per resource. */
  warnOnce(resource: Resource, message: string): void
}

/** Records about the children of one object, kept in memory between the calls of its reconciler. A restart loses them: contention is then counted from zero. */
export interface ChildRecords {
  /** Children that other clients change repeatedly, by key. */
  readonly contentions: Map<string, Contention>
  /** The uids of children that the operator saw or created and did not delete since, by key. */
  readonly uids: Map<string, string>
  /** Unmanaged objects that have the names of children, by key. */
  readonly unmanaged: Map<string, UnmanagedChild>
}

/** The maximum number of concurrent requests for the children of one object. */
const maxConcurrent = 8

/** The delay of the next check when a child has changed since the plan was made: its watch event has not arrived yet, or is lost. */
const staleMs = 1000

export async function syncChildren(
  children: ChildClient,
  { groups, isDeleting }: { readonly groups: readonly DesiredGroup[]; readonly isDeleting: boolean },
  records: ChildRecords,
): Promise<SyncReport> {
  const sync = new ChildrenSync(children, records)
  // Each child is written at most once per call, so the loop ends: the next call of the reconciler continues.
  for (;;) {
    const plan = sync.plan(groups, isDeleting)
    if (!(await sync.execute(plan))) return sync.finish(plan)
  }
}

class ChildrenSync {
  readonly #children: ChildClient
  readonly #records: ChildRecords
  readonly #report = new SyncReport()
  /** The keys of the children that this sync has written. */
  readonly #done = new Set<string>()
  readonly #slots = new Semaphore(maxConcurrent)
  /** The records at the start of this sync, by key: restored if a child could not be written. */
  readonly #contentionsBefore: ReadonlyMap<string, Contention>

  constructor(children: ChildClient, records: ChildRecords) {
    this.#children = children
    this.#records = records
    this.#contentionsBefore = new Map(records.contentions)
  }

  plan(groups: readonly DesiredGroup[], isDeleting: boolean): ChildrenPlan {
    const { writer, cacheOf, whyUnlisted, nowMs } = this.#children
    const present = this.#children.present().map(({ object }) => object)
    this.#updateRecords(groups, present)
    if (isDeleting) {
      const waits: string[] = []
      return { applies: [], deletions: planDeletions({ groups, present }, waits), waits, unlisted: [] }
    }
    return planChildren({
      groups,
      present,
      whyUnlisted: (desired) => whyUnlisted(desired),
      isUnmanaged: ({ key, existing }) =>
        existing === 'leave' && (this.#records.unmanaged.get(key)?.nextMs ?? 0) > nowMs(),
      driftOf: (desired, live) => {
        const normalised = cacheOf(desired.kind.resource!).normalisedOf(live)
        return detectDrift(desired, live, { fieldManager: writer.fieldManager, normalised })
      },
    })
  }

  /** Records the uids of existing children, and drops the records of children that are not desired any more. */
  #updateRecords(groups: readonly DesiredGroup[], present: readonly KubeObject[]): void {
    const { uids, unmanaged } = this.#records
    const desired = new Map(groups.flatMap(({ children }) => children.map(({ key, existing }) => [key, existing])))
    for (const key of uids.keys()) if (!desired.has(key)) uids.delete(key)
    for (const key of unmanaged.keys()) if (desired.get(key) !== 'leave') unmanaged.delete(key)
    for (const child of present) {
      const key = childKey(child)
      uids.set(key, child.metadata.uid ?? '')
      unmanaged.delete(key)
    }
  }

  /** Writes the children of the plan that this sync has not written yet. Returns whether there were any. */
  async execute({ applies, deletions }: ChildrenPlan): Promise<boolean> {
    const due = applies.filter((one) => !this.#done.has(one.desired.key) && this.#mayApply(one))
    const superfluous = deletions.filter((child) => !this.#done.has(childKey(child)))
    for (const { desired } of due) this.#done.add(desired.key)
    for (const child of superfluous) this.#done.add(childKey(child))
    await Promise.all([
      ...due.map((one) => this.#withSlot(() => this.#apply(one))),
      ...superfluous.map((child) => this.#withSlot(() => this.#delete(child))),
    ])
    return due.length + superfluous.length > 0
  }

  finish({ waits, unlisted }: ChildrenPlan): SyncReport {
    const { nowMs } = this.#children
    this.#report.waits = waits
    this.#report.isUnsynced = unlisted.length > 0
    for (const { name, nextMs } of this.#records.unmanaged.values()) {
      this.#report.unmanaged.push(name)
      this.#report.recheckAfter(Math.max(0, nextMs - nowMs()))
    }
    for (const message of unlisted) this.#report.problems.push({ reason: 'KindMissing', message })
    for (const [key, contention] of this.#records.contentions) {
      if (isOver(contention, nowMs())) this.#records.contentions.delete(key)
      else if (isContended(contention)) this.#reportContention(contention)
    }
    return this.#report
  }

  async #withSlot(work: () => Promise<void>): Promise<void> {
    const release = await this.#slots.acquire()
    await work().finally(release)
  }

  async #apply({ desired, live }: PlannedApply): Promise<void> {
    const { writer, logger, warnOnce } = this.#children
    const what = describeChild(desired.object)
    const competitor = this.#children.competitorOf(desired)
    if (competitor !== undefined) return this.#refuseForeign(desired, competitor)
    logger.debug(`Applying ${what}${live === undefined ? ', which is not there' : ''}.`)
    try {
      const applied = await this.#write(desired, live)
      if (applied === undefined) return
      if (typeof applied === 'string') return this.#refuseForeign(desired, applied)
      const { child, dropped, affected } = applied
      if (child.metadata.resourceVersion !== live?.metadata.resourceVersion) {
        this.#children.onWritten(child, live === undefined ? 'new' : 'changed')
        this.#children.report('childApplied', desired.kind.resource!, child)
      }
      this.#children.onMoved(affected)
      this.#records.uids.set(desired.key, child.metadata.uid ?? '')
      if (dropped.length > 0) {
        warnOnce(
          desired.kind.resource!,
          `The server does not store all desired fields of ${what}: ${dropped.slice(0, 3).join(', ')}`,
        )
      }
    } catch (error) {
      writer.signal.throwIfAborted()
      this.#refuse(desired, describeRefusal(error, desired))
    }
  }

  /**
   * Applies a child to the operator's own object, or creates the object. Returns the reason as a string if the name belongs to another object, and
   * undefined if the child was deleted in the meantime: then the next call of the reconciler creates it.
   */
  async #write(desired: DesiredChild, live: KubeObject | undefined): Promise<AppliedChild | string | undefined> {
    const { writer, own } = this.#children
    const resource = desired.kind.resource!
    const cache = this.#children.cacheOf(resource)
    const known: ApplyTarget | undefined = live && { type: 'known', uid: live.metadata.uid ?? '' }
    const target = known ?? { type: desired.existing === 'adopt' ? 'any' : 'new' }
    try {
      return await applyChild(writer, { desired, target }, { resource, cache })
    } catch (error) {
      if (!isOtherObject(error)) throw error
      const found = await findExisting(writer, desired, resource)
      if (found === undefined && live === undefined) throw error
      if (live !== undefined && found?.uid !== live.metadata.uid) cache.remove(live, { isDeleted: true })
      if (found === undefined) return void this.#report.recheckAfter(staleMs)
      const why = whyForeign(found, { own, desired, knownUid: this.#records.uids.get(desired.key) })
      if (why !== undefined) return why
      return await applyChild(writer, { desired, target: { type: 'known', uid: found.uid ?? '' } }, { resource, cache })
    }
  }

  /** The name of the child belongs to another object: reports it as a failure, or leaves the object unmanaged if the reconciler says so. */
  #refuseForeign(desired: DesiredChild, why: string): void {
    if (desired.existing !== 'leave') {
      this.#refuse(desired, why)
      return
    }
    const { logger, nowMs } = this.#children
    const { unmanaged } = this.#records
    const name = this.#describe(desired.object)
    const before = unmanaged.get(desired.key)
    unmanaged.set(desired.key, recordUnmanaged(before, name, nowMs()))
    this.#restoreContention(desired.key)
    if (before === undefined) logger.info(`${name} is left alone: it exists, and is not a child of this object.`)
  }

  /** A child that the server rejected was not restored, so the attempt must not count as contention. */
  #refuse({ key, object }: DesiredChild, why: string): void {
    this.#restoreContention(key)
    this.#report.fail(`Cannot apply ${this.#describe(object)}: ${why}`)
  }

  #restoreContention(key: string): void {
    const { contentions } = this.#records
    const before = this.#contentionsBefore.get(key)
    if (before !== undefined) contentions.set(key, before)
    else contentions.delete(key)
  }

  /** Names the namespace if it is not the owner's: a cluster-scoped owner may have children of the same name in several namespaces. */
  #describe(object: object): string {
    return `${describeChild(object)}${describePlace(object, this.#children.own.namespace)}`
  }

  async #delete(child: KubeObject): Promise<void> {
    const { writer, logger } = this.#children
    const what = describeChild(child)
    const found = this.#children.present().find(({ object }) => object === child)
    if (found === undefined) return
    logger.debug(`Deleting ${what}, which is no longer desired.`)
    try {
      this.#records.uids.delete(childKey(child))
      const deleted = await deleteChild(writer, child, found)
      if (deleted === 'changed') return this.#report.recheckAfter(staleMs)
      this.#children.onWritten(deleted ?? child, deleted === undefined ? 'gone' : 'changed')
      this.#children.report('childDeleted', found.resource, child)
    } catch (error) {
      writer.signal.throwIfAborted()
      this.#report.fail(`Cannot delete ${what}: ${describeError(error)}`)
    }
  }

  /** Whether the child may be applied now: a child that other clients change or delete repeatedly is restored after growing pauses. */
  #mayApply({ desired, drift }: PlannedApply): boolean {
    const { nowMs, logger, writer } = this.#children
    const { contentions, uids } = this.#records
    const { key, object } = desired
    if (drift.type === 'changed' || (drift.type === 'missing' && !uids.has(key))) return true
    const message =
      drift.type === 'missing'
        ? `"${writer.fieldManager}" creates ${describeChild(object)}, and another client deletes it`
        : describeContention(writer.fieldManager, drift, describeChild(object))
    const { contention, waitMs, isNew } = reactToContention(contentions.get(key), message, nowMs())
    contentions.set(key, contention)
    if (isNew) {
      logger.warn(`${message}, in turns: the operator restores it after growing pauses; let only one of them write it`)
      this.#children.report('contentionFound', desired.kind.resource!, object as KubeObject)
    }
    return waitMs === 0
  }

  #reportContention(contention: Contention): void {
    const nowMs = this.#children.nowMs()
    this.#report.problems.push({ reason: 'ChildContested', message: contention.message })
    this.#report.recheckAfter(
      contention.pausedUntilMs === undefined ? remainingQuietMs(contention, nowMs) : contention.pausedUntilMs - nowMs,
    )
  }
}

function describeContention(
  ours: string,
  { fields, by }: Extract<ChildDrift, { type: 'overwritten' }>,
  what: string,
): string {
  const rivals = by.length === 0 ? 'another client' : by.map((name) => `"${name}"`).join(' and ')
  return `"${ours}" and ${rivals} both write ${fields.slice(0, 3).join(', ')} of ${what}`
}
