/**
 * What daemons and timers want written: at once; or, where that fails for a while, by whoever looks at the object next, before
 * anything else. The object must not go before. Each handler's wishes are written apart: one that the server will never take
 * is told and given up, and takes nothing of the others along.
 */
import { ApiError } from '../client/api-error.ts'
import { ConnectionError } from '../client/connection-error.ts'
import type { Handler } from '../core/handling/handler.ts'
import { titleOf } from '../core/handling/kinds.ts'
import { describeError } from '../core/handling/outcomes.ts'
import type { Wishes } from '../core/handling/results.ts'
import { applyWish } from '../core/patching/apply.ts'
import { mergeInto } from '../core/patching/patch.ts'
import { writerOf } from './consistency.ts'
import type { Memory } from './memories.ts'
import { loggerOf, type Runtime } from './runtime.ts'
import { inTurn } from './writing.ts'

/** Resolves when it is written, given up, or left to the hall. */
export async function writeSoon(
  runtime: Runtime,
  memory: Memory,
  { handler, wishes }: { readonly handler: Handler; readonly wishes: Wishes },
): Promise<void> {
  leave(memory, handler, wishes)
  try {
    await writeOf(runtime, memory, handler)
  } catch (error) {
    tell(runtime, memory, { handler, words: 'could not be written yet', error })
  }
  // The answer may hold more than what we wrote.
  runtime.queue.put(memory, { type: 'wake' })
}

/** Rejects as long as it fails for a while. */
export async function writeLeftOver(runtime: Runtime, memory: Memory): Promise<void> {
  for (const handler of [...(memory.leftOver?.keys() ?? [])]) await writeOf(runtime, memory, handler)
}

/** All that the handler wants and has not got by the time it is its turn: what came later never goes before. */
function writeOf(runtime: Runtime, memory: Memory, handler: Handler): Promise<void> {
  return inTurn(memory, async () => {
    const wishes = memory.leftOver?.get(handler)
    if (wishes === undefined) return
    memory.leftOver?.delete(handler)
    try {
      const { body } = await applyWish(writerOf(runtime, memory, loggerOf(runtime, memory.body)), memory.body, wishes)
      if (body === undefined) memory.vanishedAt = memory.body.metadata.resourceVersion
    } catch (error) {
      if (!mayPass(error)) return tell(runtime, memory, { handler, words: 'could not be written', error })
      putBack(memory, handler, wishes)
      throw error
    }
  })
}

function putBack(memory: Memory, handler: Handler, wishes: Wishes): void {
  const newer = memory.leftOver?.get(handler)
  memory.leftOver?.set(handler, wishes)
  if (newer !== undefined) leave(memory, handler, newer)
}

function leave(memory: Memory, handler: Handler, { merge, fns }: Wishes): void {
  memory.leftOver ??= new Map()
  const before = memory.leftOver.get(handler)
  if (before === undefined) {
    memory.leftOver.set(handler, { merge, fns })
    return
  }
  mergeInto(before.merge, merge)
  for (const fn of fns) before.fns.push(fn)
}

/** Nobody is there, or has the time, or others were faster. All else is the server's last word, or a failure of the edit. */
function mayPass(error: unknown): boolean {
  if (error instanceof ConnectionError) return true
  return error instanceof ApiError && (error.status >= 500 || [401, 408, 409, 429].includes(error.status))
}

function tell(
  runtime: Runtime,
  { body }: Memory,
  { handler, words, error }: { readonly handler: Handler; readonly words: string; readonly error: unknown },
): void {
  const message = `${titleOf(handler)}: what it wanted to change ${words}: ${describeError(error)}`
  loggerOf(runtime, body).error(message)
}
