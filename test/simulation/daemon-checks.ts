/** Checks of daemons, timers and their finalizer after the simulation has settled (B7 to B9). Called by liveness-checks.ts. */
import type { Run } from './daemon-journal.ts'
import type { Live } from './liveness-checks.ts'
import { moodMs, needsFinalizer, type Part } from './simulated-daemons.ts'
import type { Twin } from './simulated-edits.ts'
import { finalizer, text } from './simulated-handlers.ts'
import type { World } from './simulated-world.ts'

/** Slightly more than the longest duration of a call. */
const slackMs = 15_000

export function checkBackground(world: World, twin: Twin, body: Live): void {
  for (const part of world.nature.parts) {
    if (part.kind === 'daemon') checkDaemon(world, twin, part)
    else checkTimer(world, twin, part)
    checkResult(world, twin, body, part)
  }
  checkFinalizer(world, twin, body)
}

/** Whether a daemon or timer should run for the object: it matches and has not finished by itself. */
function isMeant({ background, process }: World, twin: Twin, part: Part): boolean {
  return !twin.isDeleting && part.isFor(twin) && !background.hasFinished(process.number, twin.uid, part)
}

/** B7: a daemon runs exactly for the matching objects; a daemon that is slow to stop does not run twice. */
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

/** B7: a timer is called exactly as often as its schedule says. */
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

/** B7: a timer with idle was called once for the last state, unless the object was filtered out in between. */
function checkIdling({ journal, process }: World, { name, uid }: Twin, calls: readonly Run[]): void {
  const changedMs = journal.changedMs(process.number, uid) ?? Infinity
  const outMs = journal.outOfSightMs(process.number, uid) ?? -Infinity
  const since = calls.filter((run) => run.process === process.number && run.beganMs > changedMs)
  const again = since.filter((run) => run.beganMs > outMs)
  if (since.length > 0 && again.length <= 1) return
  journal.violate('B7', `"${calls[0]?.part.id}" of ${name} was called ${again.length} times since its last change`)
}

/** B8: exactly the objects that need the finalizer have it. */
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

/** The object left the label selector while no process was running, so no process has seen it since. A known limitation. */
function isStranded({ nature, journal, process }: World, { uid }: Twin): boolean {
  return nature.isNarrow && journal.changedMs(process.number, uid) === undefined
}

/** B9: the result of the last finished call is stored, unless its write was refused. */
function checkResult({ background, journal, clock }: World, twin: Twin, { status = {} }: Live, part: Part): void {
  const own = background.runs.filter((run) => run.uid === twin.uid && run.part.id === part.id)
  const done = own.filter(({ end, result }) => end === 'done' && result !== undefined)
  const last = done.sort((a, b) => a.endedMs! - b.endedMs!).at(-1)
  if (last === undefined || text(status[part.id]) === text(last.result)) return
  // The write may still be in progress.
  if (clock.now() - last.endedMs! < 1000) return
  if (journal.refusals(twin.uid) > last.refusals) return
  journal.violate('B9', `status.${part.id} of ${twin.name} is ${text(status[part.id])}, not ${text(last.result)}`)
}
