/**
 * What a reconciler wants of its object, and what is wrong with its children, onto the object. What it has written itself is no
 * reason to call it again; what others have written meanwhile is. Called by reconciling.ts.
 */
import { isUnprocessable } from '../client/api-error.ts'
import type { Wishes } from '../core/handling/results.ts'
import { fulfil } from '../core/patching/compose.ts'
import { hasKept, toCondition } from '../features/reconciling/problems.ts'
import type { Reconciliation } from '../features/reconciling/reconciliation.ts'
import type { Report } from '../features/reconciling/report.ts'
import { digestState, isForeign } from '../features/reconciling/seen.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Logger } from '../util/log.ts'
import type { Memory } from './memories.ts'
import type { Runtime } from './runtime.ts'
import { writeWish } from './writing.ts'

interface Writing {
  readonly reconciliation: Reconciliation
  /** The object as the reconciler has seen it. */
  readonly view: { readonly body: KubeObject }
  readonly logger: Logger
  readonly wishes: Wishes
  readonly report: Pick<Report, 'problems' | 'leftMessage'>
}

export async function writeAll(runtime: Runtime, memory: Memory, writing: Writing): Promise<void> {
  const { reconciliation, view, wishes } = writing
  const { persistence } = runtime.settings
  let expected = view.body
  if (Object.keys(wishes.merge).length > 0 || wishes.fns.length > 0) {
    await write(runtime, memory, writing, wishes)
    expected = fulfil(expected, wishes) as unknown as KubeObject
  }
  const condition = await writeProblems(runtime, memory, writing)
  if (condition !== undefined) expected = fulfil(expected, condition) as unknown as KubeObject
  if (memory.body === view.body) return
  const states = { before: view.body, expected, after: memory.body }
  if (!isForeign(persistence, states)) reconciliation.sees(digestState(persistence, memory.body))
}

async function write(
  runtime: Runtime,
  memory: Memory,
  { reconciliation, logger }: Writing,
  wishes: Wishes,
): Promise<void> {
  try {
    const { body } = await writeWish(runtime, memory, { logger, ...wishes })
    if (body === undefined) memory.vanishedAt = memory.body.metadata.resourceVersion
  } catch (error) {
    reconciliation.mark('unwritten')
    throw error
  }
}

/** Apart from what the user wants: should the schema not take it, nothing else is lost. */
async function writeProblems(runtime: Runtime, memory: Memory, writing: Writing): Promise<Wishes | undefined> {
  const { served } = memory
  const edit = served.dropsConditions ? undefined : toCondition(memory.body, writing.report, runtime.clock.now())
  if (edit === undefined) return undefined
  const wishes: Wishes = { merge: {}, fns: [edit] }
  try {
    await write(runtime, memory, writing, wishes)
  } catch (error) {
    if (!isUnprocessable(error)) throw error
  }
  if (memory.vanishedAt === memory.body.metadata.resourceVersion || hasKept(memory.body)) return wishes
  served.dropsConditions = true
  runtime.warnOnce(
    served.resource,
    'conditions',
    'What is wrong with children does not stay in status.conditions: it is only in the log; let the schema have conditions',
  )
  return undefined
}
