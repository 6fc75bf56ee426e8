/** What must be so of daemons and timers, and of what they need, when all is quiet (B7 to B9). Called by checks.ts. */
import type { Run } from './background.ts'
import type { Live } from './checks.ts'
import type { Twin } from './driver.ts'
import { finalizer, text } from './handlers.ts'
import { moodMs, needsFinalizer, type Part } from './parts.ts'
import type { World } from './world.ts'

/** What calls take at most, and a little more. */
const slackMs = 15_000

export function checkBackground(world: World, twin: Twin, body: Live): void {
  for (const part of world.nature.parts) {
    if (part.kind === 'daemon') checkDaemon(world, twin, part)
    else checkTimer(world, twin, part)
    checkResult(world, twin, body, part)
  }
  checkFinalizer(world, twin, body)
}

/** Whether it is to run for the object: for as long as it has not ended by itself. */
function isMeant({ background, process }: World, twin: Twin, part: Part): boolean {
  return !twin.isDeleting && part.isFor(twin) && !background.hasFinished(process.number, twin.uid, part)
}

/** B7: it runs exactly where it should; one that takes its time to end is not there twice. */
function checkDaemon(world: World, twin: Twin, part: Part): void {
  const { journal, background, process } = world
  const run = background.find(process.number, twin.uid, part)
  const isEnding = run?.reason !== undefined
  if (isMeant(world, twin, part)) {
    if (run === undefined) journal.violate('B7', `"${part.id}" does not run for ${twin.name}`)
    return
  }
  if (run !== undefined && !isEnding) journal.violate('B7', `"${part.id}" runs for ${twin.name}, which it is not for`)
}

/** B7: it is called as often as it should be, and not otherwise. */
function checkTimer(world: World, twin: Twin, part: Part): void {
  const { journal, background, clock } = world
  const calls = background.runs.filter((run) => run.uid === twin.uid && run.part === part)
  const last = calls.at(-1)
  const { interval, idle } = part.options
  const agoMs = clock.now() - (last?.endedMs ?? last?.beganMs ?? -Infinity)
  if (!isMeant(world, twin, part)) {
    if (agoMs < slackMs) journal.violate('B7', `"${part.id}" is called for ${twin.name}, which it is not for`)
    return
  }
  const limitMs = interval === undefined ? Infinity : interval * 1000 + slackMs + (part.isMoody ? moodMs : 0)
  if (agoMs > limitMs) journal.violate('B7', `"${part.id}" of ${twin.name} was last called ${agoMs} ms ago`)
  if (idle !== undefined && interval === undefined) checkIdling(world, twin, calls)
}

/** B7: it was called for the last state that there is, and not again; unless it was out of sight in between. */
function checkIdling({ journal, process }: World, { name, uid }: Twin, calls: readonly Run[]): void {
  const changedMs = journal.changedMs(process.number, uid) ?? Infinity
  const outMs = journal.outOfSightMs(process.number, uid) ?? -Infinity
  const since = calls.filter((run) => run.process === process.number && run.beganMs > changedMs)
  const again = since.filter((run) => run.beganMs > outMs)
  if (since.length > 0 && again.length <= 1) return
  journal.violate('B7', `"${calls[0]?.part.id}" of ${name} was called ${again.length} times since its last change`)
}

/** B8: the finalizer is on where something needs it, and nowhere else. */
function checkFinalizer(world: World, twin: Twin, { metadata: { finalizers = [] } }: Live): void {
  const { background, process, nature, journal } = world
  const isOn = finalizers.includes(finalizer)
  const holders = nature.parts.filter((part) => {
    if (!needsFinalizer(part)) return false
    const run = background.find(process.number, twin.uid, part)
    return isMeant(world, twin, part) || (run !== undefined && !background.isAbandoned(run))
  })
  const isNeeded = holders.length > 0 || (nature.hasCleanup && !twin.isDeleting)
  if (isOn === isNeeded || (isOn && isStranded(world, twin))) return
  const who = isNeeded ? `not held for ${holders.map(({ id }) => id).join(', ')}` : 'held for nobody'
  journal.violate('B8', `${twin.name} is ${who}${twin.isDeleting ? ', and deleted' : ''}`)
}

/** It has left what the server is asked for while there was no process: none has ever seen it since. A known gap. */
function isStranded({ nature, journal, process }: World, { uid }: Twin): boolean {
  return nature.isNarrow && journal.changedMs(process.number, uid) === undefined
}

/** B9: what came of the last call that was made to the end is there, unless it was given up on the way. */
function checkResult({ background, journal, clock }: World, twin: Twin, { status = {} }: Live, part: Part): void {
  const own = background.runs.filter((run) => run.uid === twin.uid && run.part.id === part.id)
  const done = own.filter(({ end, result }) => end === 'done' && result !== undefined)
  const last = done.sort((a, b) => a.endedMs! - b.endedMs!).at(-1)
  if (last === undefined || text(status[part.id]) === text(last.result)) return
  // It is on its way.
  if (clock.now() - last.endedMs! < 1000) return
  if (journal.refusals(twin.uid) > last.refusals) return
  journal.violate('B9', `status.${part.id} of ${twin.name} is ${text(status[part.id])}, not ${text(last.result)}`)
}
