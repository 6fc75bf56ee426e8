/** Waits until the programs of the control plane are ready, and fails early if one of them exits. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Child } from './child.ts'

export interface WaitOptions {
  /** The awaited condition, for the error message: "kube-apiserver to be ready". */
  readonly what: string
  /** The processes that the condition depends on. */
  readonly children: readonly Child[]
  readonly timeoutMs?: number
}

/** An error of `check` counts as "not yet": connections are refused until a server listens. */
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
    if (dead) throw new Error(`Cannot start ${dead.name}: it ended with ${dead.ended}\n${dead.logTail()}`)
    if (Date.now() > deadline) {
      const logs = options.children.map((child) => `${child.name}:\n${child.logTail()}`).join('\n')
      throw new Error(`Timed out waiting for ${options.what}\n${logs}`, { cause: lastError })
    }
    await sleep(25)
  }
}
