/** What an event looks like on the wire, to the letter of Kopf's, and within the limits of the API. Pure. */
import type { ObjectReference } from '../../kube/objects.ts'
import { toText } from '../../util/log-text.ts'
import type { PostingSettings } from './settings.ts'

/**
 * The limits of the API for events with an `eventTime`, in bytes though it says "characters": Go's `len` of a string
 * (pkg/apis/core/validation/events.go, legacyValidateEvent).
 */
const longestMessage = 1024
const longestReason = 128

const headOfMessage = 511
const tailOfMessage = 510

export interface EventContent {
  /** `Normal` or `Warning`. Core v1 takes any other, too; only `events.k8s.io` insists on these two. */
  readonly type: string
  readonly reason: string
  readonly message: string
}

/** Cut to what the API accepts: the middle of the message goes, as in Kopf; never a part of a character. */
export function cutContent({ type, reason, message }: EventContent): EventContent {
  return { type, reason: cutReason(reason), message: cutMessage(message) }
}

function cutMessage(message: string): string {
  const bytes = Buffer.from(toText(message))
  if (bytes.length <= longestMessage) return bytes.toString()
  return `${headOf(bytes, headOfMessage)}...${tailOf(bytes, tailOfMessage)}`
}

function cutReason(reason: string): string {
  const bytes = Buffer.from(toText(reason))
  return headOf(bytes, Math.min(bytes.length, longestReason))
}

function headOf(bytes: Buffer, length: number): string {
  let end = length
  while (isContinuation(bytes[end])) end -= 1
  return bytes.toString('utf8', 0, end)
}

function tailOf(bytes: Buffer, length: number): string {
  let start = bytes.length - length
  while (isContinuation(bytes[start])) start += 1
  return bytes.toString('utf8', start)
}

/** Of a character of UTF-8, every byte but the first begins with the bits 10. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000
}

export interface Occurrences {
  readonly count: number
  readonly firstMs: number
  readonly lastMs: number
}

export function toEventBody(
  reference: ObjectReference,
  namespace: string,
  content: EventContent,
  occurrences: Occurrences,
  settings: PostingSettings,
): Record<string, unknown> {
  const { reportingComponent, reportingInstance, eventNamePrefix } = settings
  const { type, reason, message } = content
  const present = Object.entries({ ...reference, namespace }).filter(([, value]) => value !== null)
  return {
    metadata: { namespace, generateName: eventNamePrefix },
    action: 'Action?',
    type,
    reason,
    message,
    reportingComponent,
    reportingInstance,
    // The "From" column of `kubectl describe`.
    source: { component: reportingComponent },
    involvedObject: Object.fromEntries(present),
    ...toTimes(occurrences),
  }
}

/** A single event has no count, as in Kopf: `kubectl` shows such as one. */
function toTimes({ count, firstMs, lastMs }: Occurrences): Record<string, unknown> {
  const first = toMicroTime(firstMs)
  return { firstTimestamp: first, lastTimestamp: toMicroTime(lastMs), eventTime: first, ...(count > 1 && { count }) }
}

/** `eventTime` is a MicroTime: exactly six digits after the point, or the API refuses the whole event. */
export function toMicroTime(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, -1)}000Z`
}
