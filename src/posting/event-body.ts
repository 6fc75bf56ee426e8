/** Builds the body of a Kubernetes Event, exactly as Kopf does, within the limits of the API. Pure. */
import type { ObjectReference } from '../kube/objects.ts'
import { toText } from '../util/log/error-text.ts'
import type { PosterSettings } from './poster.ts'

/**
 * The limits of the API for events with an `eventTime`. They are in bytes, although the error says "characters": Go's `len` of a
 * string (pkg/apis/core/validation/events.go, legacyValidateEvent).
 */
const maxMessageLength = 1024
const maxReasonLength = 128

const headBytes = 511
const tailBytes = 510

export interface EventContent {
  /** `Normal` or `Warning`. Core v1 accepts other types, too; `events.k8s.io` does not. */
  readonly type: string
  readonly reason: string
  readonly message: string
}

/** Truncates the content to the limits of the API: removes the middle of the message, as Kopf does. Never splits a character. */
export function truncateContent({ type, reason, message }: EventContent): EventContent {
  return { type, reason: truncateReason(reason), message: truncateMessage(message) }
}

function truncateMessage(message: string): string {
  const bytes = Buffer.from(toText(message))
  if (bytes.length <= maxMessageLength) return bytes.toString()
  return `${headOf(bytes, headBytes)}...${tailOf(bytes, tailBytes)}`
}

function truncateReason(reason: string): string {
  const bytes = Buffer.from(toText(reason))
  return headOf(bytes, Math.min(bytes.length, maxReasonLength))
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

/** In UTF-8, every byte of a character except the first starts with the bits 10. */
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
  settings: PosterSettings,
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

/** A single occurrence has no count, as in Kopf: kubectl shows it as 1. */
function toTimes({ count, firstMs, lastMs }: Occurrences): Record<string, unknown> {
  const first = toMicroTime(firstMs)
  return { firstTimestamp: first, lastTimestamp: toMicroTime(lastMs), eventTime: first, ...(count > 1 && { count }) }
}

/** `eventTime` is a MicroTime: the API rejects an event without exactly six digits after the point. */
export function toMicroTime(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, -1)}000Z`
}
