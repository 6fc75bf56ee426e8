/**
 * The reconcilers of an object, in its own worker, after its handlers of changes: whoever is due is called with the object as it
 * is, and its children are made as it says. Nothing of it is kept on the object but its steps. Called by process.ts.
 */

import { createConditions } from '../core/handling/conditions.ts'
import type { Handler } from '../core/handling/handler.ts'
import { attempt } from '../core/handling/invoke.ts'
import type { Outcome } from '../core/handling/outcomes.ts'
import { checkResult, collectWish, type Wishes } from '../core/handling/results.ts'
import { isAmong, preMatches } from '../core/handling/select.ts'
import { createPatch, type Patch } from '../core/patching/patch.ts'
import { carryOut } from '../features/reconciling/carry-out.ts'
import { createChildren } from '../features/reconciling/children.ts'
import type { Reconciliation } from '../features/reconciling/reconciliation.ts'
import { Report } from '../features/reconciling/report.ts'
import { digestState } from '../features/reconciling/seen.ts'
import { readReconciled, type WantedGroup } from '../features/reconciling/wanted.ts'
import type { KubeObject } from '../kube/objects.ts'
import { monotonicOf } from '../util/clock.ts'
import { join } from '../util/join.ts'
import type { Logger } from '../util/log.ts'
import { type Memory, reconciliationOf } from './memories.ts'
import { createNursery, kindsPresent } from './nursery.ts'
import { type CallSteps, createSteps } from './reconciling-steps.ts'
import { writeAll } from './reconciling-writes.ts'
import type { Runtime } from './runtime.ts'
import { View } from './view.ts'

/** One reconciler of one object, at this moment. */
export interface Turn {
  readonly handler: Handler
  readonly reconciliation: Reconciliation
  readonly view: View
  readonly logger: Logger
}

export async function reconcileObject(runtime: Runtime, memory: Memory, logger: Logger): Promise<void> {
  const { reconcile } = memory.served.handlers
  const { body } = memory
  for (const [position, handler] of reconcile.entries()) {
    if (isAmong(reconcile.slice(0, position), handler)) continue
    if (isOver(runtime, memory)) return
    await attend(runtime, memory, { handler, logger })
  }
  // What was written is a change for others, and its echo is none.
  if (memory.body !== body) runtime.queue.put(memory, { type: 'wake' })
  if (reconcile.length > 0 && !isOver(runtime, memory)) callAgain(runtime, memory)
}

function isOver({ stopping, pause }: Runtime, { isUnwatched, isGone, body, vanishedAt }: Memory): boolean {
  const hasVanished = vanishedAt !== undefined && vanishedAt === body.metadata.resourceVersion
  return isUnwatched || isGone || hasVanished || stopping.aborted || pause.isPausedIn(body.metadata.namespace)
}

async function attend(
  runtime: Runtime,
  memory: Memory,
  { handler, logger }: Pick<Turn, 'handler' | 'logger'>,
): Promise<void> {
  const view = new View(runtime, memory, logger)
  if (!isConcerned(handler, view)) {
    memory.reconciling?.delete(handler)
    return
  }
  const reconciliation = reconciliationOf(memory, handler)
  const seen = digestState(runtime.settings.persistence, view.body)
  if (!reconciliation.isDue(seen, monotonicOf(runtime.clock))) return
  reconciliation.isWaiting = runtime.kinship.isPending(handler, view.body)
  if (reconciliation.isWaiting) return
  reconciliation.begin(seen, monotonicOf(runtime.clock))
  await reconcile(runtime, memory, { handler, reconciliation, view, logger })
}

/** At the end of an object, only those who keep it from going have a word, or whoever does without being waited for. */
function isConcerned(handler: Handler, view: View): boolean {
  if (handler.needsFinalizer && !view.blocked) return false
  return preMatches(handler, { resource: view.resource, body: view.body, args: view.objectArgs })
}

/** Whoever is due already, is called in the next turn of the object; whoever will be, is woken then. */
function callAgain(runtime: Runtime, memory: Memory): void {
  const nowMs = monotonicOf(runtime.clock)
  const seen = digestState(runtime.settings.persistence, memory.body)
  // Who waits for children to come in sight is called then.
  const active = [...(memory.reconciling?.values() ?? [])].filter(({ isWaiting }) => !isWaiting)
  if (active.some((one) => one.isDue(seen, nowMs))) runtime.queue.put(memory, { type: 'wake' })
  const dueMs = Math.min(...active.map((one) => one.dueMs))
  if (dueMs < Infinity) runtime.alarms.setAfter(memory, Math.max(0, dueMs - nowMs))
}

async function reconcile(runtime: Runtime, memory: Memory, turn: Turn): Promise<void> {
  const { handler, reconciliation, view } = turn
  const patch = createPatch<KubeObject>()
  const steps = createSteps(runtime, memory, turn)
  const called = await call(runtime, memory, { ...turn, patch, steps })
  const { outcome } = called
  const wishes: Wishes = { merge: {}, fns: [] }
  collectWish(wishes, { handler, patch, outcome: { type: 'done', result: undefined } })
  const nowMs = monotonicOf(runtime.clock)
  reconciliation.follow(outcome, nowMs + Math.min(called.nextMs, called.report.wakeMs), nowMs)
  reconciliation.isBlind ||= called.report.isBlind
  reconciliation.isCleaned = view.deleting && outcome.type === 'done' && called.report.waits.length === 0
  if (reconciliation.isCleaned && handler.needsFinalizer) runtime.queue.put(memory, { type: 'wake' })
  await steps.settle(outcome, wishes, () => writeAll(runtime, memory, { ...turn, wishes, report: called.report }))
}

interface Called {
  readonly outcome: Outcome
  readonly report: Report
  /** After how long to call it again, if nothing happens. */
  readonly nextMs: number
}

type PatchedTurn = Turn & { readonly patch: Patch<KubeObject>; readonly steps: CallSteps }

async function call(runtime: Runtime, memory: Memory, turn: PatchedTurn): Promise<Called> {
  const { clock, random } = runtime
  const { handler, reconciliation, view, logger, patch, steps } = turn
  let report = new Report()
  let nextMs = Infinity
  reconciliation.started ??= { atMs: clock.now(), steadyMs: monotonicOf(clock) }
  const { atMs, steadyMs } = reconciliation.started
  // All of it happens in this process: when the time of day is set, nothing has been used up.
  const steadyClock = { now: () => atMs + monotonicOf(clock) - steadyMs }
  const defaultBackoffMs = reconciliation.backoffMs(random)
  const attempted = attempt(
    { clock: steadyClock, logger, watch: runtime.watchOf(memory), defaultBackoffMs },
    handler,
    { startedMs: atMs, retries: reconciliation.retries },
    {
      args: (retryArgs) => argsOf(runtime, turn, { ...retryArgs, param: handler.param }),
      finish: async (result) => {
        await steps.finish()
        checkResult(handler, patch, undefined)
        const family = {
          owner: view.body,
          kinds: runtime.kinship.kindsOf(handler),
          label: runtime.kinship.labelOf(handler),
          existing: handler.reconciling?.existing ?? 'refuse',
        }
        const { requeueMs = Infinity, groups } = readReconciled(result, family)
        const settled = settleGroups(turn, groups)
        if (settled !== undefined) {
          const nursery = createNursery(runtime, memory, turn)
          report = await carryOut(nursery, { groups: settled, isDeleting: view.deleting }, reconciliation.records)
        }
        for (const words of report.waits) logger.debug(`Waiting: ${words}.`)
        nextMs = Math.min(requeueMs, resyncMsOf(handler, random))
        if (report.hasFailed) throw report.toError(defaultBackoffMs)
      },
      isInterruption: () => runtime.writing.aborted,
    },
  )
  return { outcome: await steps.during(attempted), report, nextMs }
}

/**
 * Of an object that is on its way out, all children that are not held on to go, where somebody waits for it; otherwise the
 * garbage collector takes them. Whoever deletes the object and wants to keep its children has said so by a finalizer.
 */
function settleGroups(
  { handler, view }: Turn,
  groups: readonly WantedGroup[] | undefined,
): readonly WantedGroup[] | undefined {
  if (!view.deleting) return groups
  if (view.body.metadata.finalizers?.includes('orphan')) return undefined
  return groups ?? (handler.needsFinalizer ? [] : undefined)
}

/** Spread by chance, so that not all objects come at the same moment, as they did at the start. */
function resyncMsOf({ reconciling }: Handler, random: () => number): number {
  return (reconciling?.resyncMs ?? Infinity) * (1 + random() / 10)
}

function argsOf(runtime: Runtime, { handler, view, patch, steps }: PatchedTurn, rest: object): object {
  const conditions = createConditions({ patch, body: () => view.body, clock: runtime.clock, handler })
  const children = createChildren(kindsPresent(runtime, handler, view.body), view.body.metadata.namespace)
  const own = { patch, conditions, signal: runtime.signal, deleting: view.deleting, children }
  return join(view.objectArgs(), rest, steps.args, own)
}
