/**
 * Conditions of an object by the API conventions: one per type; `lastTransitionTime` changes only with the status. Pure.
 * https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md
 */
import { KopfError } from '../errors.ts'
import { isPlainObject } from '../util/json/json.ts'
import { formatGoTime } from '../util/text/go-time.ts'

/** Whether a condition holds; `Unknown` if that cannot be determined. */
export type ConditionStatus = 'True' | 'False' | 'Unknown'

/** One entry of `status.conditions`, as metav1.Condition defines it. */
export interface Condition {
  /** The type of the condition, unique within the object. In CamelCase, optionally with a domain: `Ready`, `example.com/Ready`. */
  readonly type: string
  /** Whether the condition holds: `True`, `False` or `Unknown`. */
  readonly status: ConditionStatus
  /** The reason of the last change, as one word in CamelCase: `DiskFull`. */
  readonly reason: string
  /** A sentence for users. May be empty. */
  readonly message: string
  /** When `status` last changed, in RFC 3339. */
  readonly lastTransitionTime: string
  /** The `metadata.generation` that the condition was determined for. */
  readonly observedGeneration?: number
}

type ConditionTexts = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/** A condition to set. Its `lastTransitionTime` depends on the condition that the object has. */
export interface DesiredCondition extends ConditionTexts {
  readonly nowMs: number
  /** `metadata.generation`; undefined for objects without one. */
  readonly generation: number | undefined
}

/** Patterns and limits from the schema of metav1.Condition. */
const dnsLabel = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const typePattern = new RegExp(`^(${dnsLabel}(\\.${dnsLabel})*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
const reasonPattern = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/
const maxTypeLength = 316
const maxReasonLength = 1024
const maxMessageLength = 32_768

/** Throws for values that the schema of metav1.Condition rejects, with the name of the condition. Long messages are truncated. */
export function checkCondition(type: string, status: unknown, reason: string, message: string = ''): ConditionTexts {
  checkType(type)
  const fail = (why: string): never => {
    throw new KopfError('KOPF_CONDITION', `Cannot set the condition "${type}": ${why}`)
  }
  if (!matches(reason, reasonPattern, maxReasonLength)) {
    fail(
      `its reason ${JSON.stringify(reason)} is not one word in CamelCase, such as "DiskFull"; put sentences into the message`,
    )
  }
  if (typeof message !== 'string') fail(`its message is a text, and not ${JSON.stringify(message)}`)
  const known = toStatus(status) ?? fail(`its status is true, false or "Unknown", and not ${JSON.stringify(status)}`)
  return { type, status: known, reason, message: message.slice(0, maxMessageLength).replace(/[\ud800-\udbff]$/, '') }
}

export function checkType(type: unknown): void {
  if (matches(type, typePattern, maxTypeLength)) return
  const why = 'a type is a word in CamelCase, such as "Ready", with a domain before it where others may have the same'
  throw new KopfError('KOPF_CONDITION', `Cannot have a condition of the type ${JSON.stringify(type)}: ${why}`)
}

function matches(text: unknown, pattern: RegExp, maxLength: number): boolean {
  return typeof text === 'string' && text.length <= maxLength && pattern.test(text)
}

function toStatus(status: unknown): ConditionStatus | undefined {
  if (status === true) return 'True'
  if (status === false) return 'False'
  return status === 'True' || status === 'False' || status === 'Unknown' ? status : undefined
}

export function conditionsOf(status: unknown): readonly Condition[] {
  const conditions = isPlainObject(status) ? status['conditions'] : undefined
  return Array.isArray(conditions) ? (conditions as unknown as Condition[]) : []
}

export function findCondition(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((one) => isPlainObject(one) && one.type === type)
}

/** The list with the condition set; the same list if it is up to date. Unknown fields of the condition are kept. */
export function withCondition(conditions: readonly Condition[], desired: DesiredCondition): readonly Condition[] {
  const { nowMs, generation, ...fields } = desired
  const current = findCondition(conditions, desired.type)
  if (current !== undefined && isUpToDate(current, desired)) return conditions
  const isSameStatus = current?.status === fields.status && typeof current.lastTransitionTime === 'string'
  const lastTransitionTime = isSameStatus ? current.lastTransitionTime : formatGoTime(nowMs)
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  const next = { ...current, ...fields, lastTransitionTime, ...observed }
  return current === undefined ? [...conditions, next] : conditions.map((one) => (one === current ? next : one))
}

/** A missing `observedGeneration` is no difference: a schema without that field would drop it, and every update would write it again. */
function isUpToDate(current: Condition, { status, reason, message, generation }: DesiredCondition): boolean {
  const isSame = current.status === status && current.reason === reason && (current.message ?? '') === message
  const { observedGeneration = generation } = current
  return isSame && (generation === undefined || observedGeneration === generation)
}
