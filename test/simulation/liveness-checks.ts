/** Liveness checks per object after the faults and edits have ended. */
import type { Tree } from '../support/answers.ts'
import { checkBackground } from './daemon-checks.ts'
import type { Twin } from './simulated-edits.ts'
import { contentOf, essenceOf, finalizer, itemsOf, text } from './simulated-handlers.ts'
import { checkIndices } from './simulated-indices.ts'
import type { World } from './simulated-world.ts'

const ours = 'kopf.zalando.org/'
const lastHandled = `${ours}last-handled-configuration`

/** An object as stored by the server. */
export interface Live {
  readonly metadata: {
    readonly labels?: Record<string, string>
    readonly annotations?: Record<string, string>
    readonly finalizers?: string[]
    readonly deletionTimestamp?: string
  }
  readonly spec?: Record<string, unknown>
  readonly status?: Record<string, unknown>
}

export async function checkWorld(world: World): Promise<void> {
  const live: Twin[] = []
  for (const twin of [...world.driver.alive.values()]) {
    const body = await world.driver.read(twin.name)
    const uid = (body?.['metadata'] as Tree | undefined)?.['uid']
    if (uid !== twin.uid) {
      checkGone(world, twin)
      continue
    }
    live.push(twin)
    checkLive(world, twin, body as unknown as Live)
  }
  checkIndices(world, live)
  if (world.options.hasChildren) await world.offspring.check(live)
  for (const twin of world.driver.dead) checkGone(world, twin)
}

/** P5: every object that had the finalizer when it was deleted was cleaned up. */
function checkGone({ journal, nature }: World, twin: Twin): void {
  const { uid, name, wasHeld, isForced } = twin
  if (!nature.hasCleanup || !nature.hasChanges || !wasHeld || isForced) return
  if (journal.lastDone(uid, 'cleanup')?.end !== 'done') journal.violate('P5', `${name} went without its clean-up`)
}

function checkLive(world: World, twin: Twin, body: Live): void {
  checkForeign(world, twin, body)
  checkBackground(world, twin, body)
  if (twin.isDeleting) return
  if (!world.nature.hasChanges) {
    checkUntouched(world, twin, body)
    return
  }
  checkHandled(world, twin, body)
  if (!world.journal.isTorn(twin.uid)) checkStatus(world, twin, body)
}

/** P6: fields of other writers are unchanged. */
function checkForeign({ journal }: World, twin: Twin, { metadata, spec = {}, status = {} }: Live): void {
  const foreign = Object.entries(metadata.annotations ?? {}).filter(([key]) => !key.startsWith(ours))
  const pairs: ReadonlyArray<readonly [what: string, is: unknown, ought: unknown]> = [
    ['spec', spec, twin.spec],
    ['labels', metadata.labels ?? {}, twin.labels],
    ['annotations', Object.fromEntries(foreign), twin.annotations],
    ['finalizers', (metadata.finalizers ?? []).filter((one) => one !== finalizer), twin.finalizers],
    ['status.alien', status['alien'], twin.alien === undefined ? undefined : { by: twin.alien }],
  ]
  for (const [what, is, ought] of pairs) {
    if (text(is) !== text(ought)) journal.violate('P6', `${what} of ${twin.name} is ${text(is)}, not ${text(ought)}`)
  }
}

/** L1: without change handlers, nothing is stored on the object. */
function checkUntouched({ journal }: World, { name }: Twin, { metadata: { annotations = {} } }: Live): void {
  const kept = Object.keys(annotations).filter((key) => key.startsWith(ours))
  if (kept.length > 0) journal.violate('L1', `${name} has ${kept.join(', ')}`)
}

/** L1, L2: the current state is handled, every matching handler has seen it, and no progress is left. */
function checkHandled({ journal, process }: World, twin: Twin, { metadata, status = {} }: Live): void {
  const { name, uid } = twin
  const essence = essenceOf(twin)
  const annotations = metadata.annotations ?? {}
  const stored = annotations[lastHandled]
  if (stored === undefined || text(JSON.parse(stored)) !== essence) {
    journal.violate('L1', `${name} is at ${essence} and counts as handled at ${stored}`)
  }
  const leftovers = Object.keys(annotations).filter((key) => key.startsWith(ours) && key !== lastHandled)
  if (leftovers.length > 0 || 'kopf' in status) journal.violate('L1', `${name} still has ${leftovers.join(', ')}`)
  const concerned = ['mirror', 'slow', 'flaky', ...(twin.labels['tier'] === 'gold' ? ['golden'] : [])]
  for (const id of concerned) {
    const last = journal.lastDone(uid, id)
    // A process that was killed before its first write leaves no record, so a change that was reverted by then is unknown.
    if (last !== undefined && !last.isCommitted && last.process !== process.number) continue
    if (last?.new !== essence) journal.violate('L2', `"${id}" of ${name} has seen ${last?.new}, not ${essence}`)
  }
}

function checkStatus({ journal, process, handledMs }: World, twin: Twin, { status = {} }: Live): void {
  const content = contentOf(twin)
  const expected: Array<readonly [key: string, is: unknown, ought: unknown]> = [
    ['mirror', status['mirror'], content],
    ['slow', status['slow'], content],
    ['flaky', status['flaky'], content],
    ['sized', status['sized'], twin.spec['size']],
  ]
  if (twin.labels['tier'] === 'gold') expected.push(['golden', status['golden'], content])
  const items = (status['items'] ?? {}) as Record<string, unknown>
  for (const item of itemsOf(twin.spec))
    expected.push([`items.${item}`, items[item] ?? null, twin.spec['size'] ?? null])
  // As in Kopf, resume handlers are not mixed into a creation that another process has not finished.
  const isThere = (handledMs.get(twin.uid) ?? Infinity) < process.startedMs
  if (isThere) expected.push(['back', status['back'], process.number])
  for (const [key, is, ought] of expected) {
    if (text(is) !== text(ought))
      journal.violate('L2', `status.${key} of ${twin.name} is ${text(is)}, not ${text(ought)}`)
  }
}
