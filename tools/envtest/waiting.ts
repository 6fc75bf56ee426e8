/**
 * Waits for a program of the control plane to become ready, and gives up early when it has ended. Used by
 * control-plane.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Child } from './child.ts'

export interface WaitOptions {
  /** What is waited for, for the message: "kube-apiserver to be ready". */
  readonly what: string
  /** The processes without which it cannot happen. */
  readonly children: readonly Child[]
  readonly timeoutMs?: number
}

/** A failure of `check` counts as "not yet": connections are refused until a server listens. */
export async function waitUntil(check: () => Promise<boolean>, options: WaitOptions): Promise<void> {
  const deadline = Date.now() + (options.timeoutMs ?? 60_000)
  let lastError: unknown
  for (;;) {
    try {
      if (await check()) return
    } catch (error) {
      lastError = error
    }
    const dead = options.children.find((child) => child.ended !== undefined)
    if (dead) throw new Error(`Cannot start ${dead.name}: it ended with ${dead.ended}\n${dead.lastWords()}`)
    if (Date.now() > deadline) {
      const logs = options.children.map((child) => `${child.name}:\n${child.lastWords()}`).join('\n')
      throw new Error(`Waited in vain for ${options.what}\n${logs}`, { cause: lastError })
    }
    await sleep(25)
  }
}
