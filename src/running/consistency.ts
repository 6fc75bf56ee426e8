/** Never acting on our own past: which state of an object is the newest, and what to do with those that are not. */
import type { Writer } from '../core/patching/apply.ts'
import { isOlder } from '../core/watching/versions.ts'
import { canBeCustom } from '../kube/groups.ts'
import type { KubeObject } from '../kube/objects.ts'
import { monotonicOf } from '../util/clock.ts'
import { toMs } from '../util/duration.ts'
import type { Logger } from '../util/log.ts'
import { noteState } from './idleness.ts'
import { indexAnswer } from './indexing.ts'
import type { Memory } from './memories.ts'
import type { Runtime } from './runtime.ts'

/**
 * Whether this is news: states older than what we know are not, such as the echo of our own write. The versions of one
 * resource can be compared; where they cannot (other API servers), what comes is held until our own write has come back.
 */
export function takeIn(runtime: Runtime, memory: Memory, object: KubeObject): boolean {
  const known = memory.body.metadata.resourceVersion
  const version = object.metadata.resourceVersion
  if (version === known && object !== memory.body) {
    if (version === memory.expected?.version) {
      memory.expected = undefined
      memory.held = undefined
    }
    return false
  }
  if (isOlder(version, known)) return false
  if (isOlder(known, version) || object === memory.body) {
    memory.expected = undefined
  } else if (memory.expected !== undefined) {
    const leftMs = memory.expected.untilMs - monotonicOf(runtime.clock)
    if (version !== memory.expected.version && leftMs > 0) {
      memory.held = object
      runtime.alarms.setAfter(memory, leftMs)
      return false
    }
    memory.expected = undefined
  }
  memory.body = object
  memory.held = undefined
  return true
}

/** Our own write never came back: what came instead has to do. */
export function releaseHeld(runtime: Runtime, memory: Memory): void {
  const { held, expected } = memory
  if (held === undefined || (expected !== undefined && monotonicOf(runtime.clock) < expected.untilMs)) return
  memory.expected = undefined
  memory.held = undefined
  memory.body = held
}

/** The answer to our own write is the newest state there is. */
function takeAnswer(runtime: Runtime, memory: Memory, body: KubeObject): void {
  const version = body.metadata.resourceVersion
  if (isOlder(version, memory.body.metadata.resourceVersion)) return
  noteState(runtime, memory, body)
  memory.body = body
  indexAnswer(runtime, memory, body)
  const timeoutMs = toMs(runtime.settings.persistence.consistencyTimeout)
  if (version === undefined || timeoutMs <= 0) return
  memory.expected = { version, untilMs: monotonicOf(runtime.clock) + timeoutMs }
}

export function writerOf(runtime: Runtime, memory: Memory, logger: Logger): Writer {
  return {
    session: runtime.session,
    resource: memory.served.resource,
    logger,
    signal: runtime.writing,
    onAnswer: (body) => takeAnswer(runtime, memory, body),
    onDropped: (field) => noteDropped(runtime, memory, field),
    dropped: memory.served.dropped,
  }
}

/** Of a built-in kind, so many fields are kept in mind: names may be made up as handlers go. */
const mostDropped = 100

/** Results are the usual victims: nothing else tells their authors why they do not see them. */
function noteDropped({ warnOnce }: Runtime, { served }: Memory, field: string): void {
  const isCustom = canBeCustom(served.resource.group)
  // The schema of a custom resource may get the field at any time; that of a built-in kind will not.
  if (!isCustom && served.dropped.size < mostDropped) served.dropped.add(field)
  const advice = isCustom ? 'let the schema preserve unknown fields in the status, name the field in it, or' : ''
  warnOnce(
    served.resource,
    'dropped',
    `What handlers write to the status does not all stay there: "${field}" is dropped, as the schema does not have it; ` +
      `${advice} return nothing from the handler`.trimStart(),
  )
}
