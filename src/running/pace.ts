/**
 * Objects that change all the time: the first change is handled at once, then there is a pause after each run while changes
 * keep coming, so that a thousand edits do not become a thousand runs. on.event handlers still see all of them.
 */
import type { Reason } from '../core/causation/causes.ts'
import { monotonicOf } from '../util/clock.ts'
import type { Memory } from './memories.ts'
import type { Runtime } from './runtime.ts'

/**
 * After the first run, the second, and so on while they follow each other closely; the last one stays. A storm of ten
 * seconds is ten runs; with a status to write, that is twenty writes.
 */
const pausesMs = [100, 400, 1000, 1000, 1500, 1500, 2000, 2000, 3000]

/** A change that comes so long after the pause is not part of the storm. */
const calmMs = 1000

/** How long to wait. Only further changes wait: neither creation nor deletion does, nor a retry that somebody asked for. */
export function pauseMsOf({ clock }: Runtime, memory: Memory, reason: Reason): number {
  if (reason !== 'update' || memory.progress !== undefined) return 0
  return Math.max(0, memory.pausedUntilMs - monotonicOf(clock))
}

/** The pause begins when what came of the run is written: on an object that many write to, that alone takes a while. */
export function noteRun({ clock }: Runtime, memory: Memory, beganMs: number): void {
  memory.hotRuns = beganMs < memory.pausedUntilMs + calmMs ? memory.hotRuns + 1 : 0
  memory.pausedUntilMs = monotonicOf(clock) + pausesMs[Math.min(memory.hotRuns, pausesMs.length - 1)]!
}
