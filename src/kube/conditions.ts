/**
 * Conditions of an object, as the API conventions have them: one of each type, whose time of transition is that of its status.
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md) Pure.
 */
import { KopfError } from '../errors.ts'
import { isPlainObject } from '../util/json.ts'

/** Whether a condition holds; `Unknown` where nobody can tell yet. */
export type ConditionStatus = 'True' | 'False' | 'Unknown'

/** One entry of `status.conditions`, as the API conventions have it. */
export interface Condition {
  readonly type: string
  readonly status: ConditionStatus
  /** One word in CamelCase, for programs. */
  readonly reason: string
  /** For people; may be empty. */
  readonly message: string
  /** When the status has last changed. */
  readonly lastTransitionTime: string
  /** The generation of the object that it is about. */
  readonly observedGeneration?: number
}

type Said = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/** What somebody wants to be said; since when it is so is found out on the object. */
export interface WantedCondition extends Said {
  readonly nowMs: number
  /** Undefined where objects have no generations. */
  readonly generation: number | undefined
}

/** As the schema of metav1.Condition has them. */
const labelled = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const typePattern = new RegExp(`^(${labelled}(\\.${labelled})*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
const reasonPattern = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/
const longestType = 316
const longestReason = 1024
const longestMessage = 32_768

/** What the schema would refuse, without saying whose it is, is refused here. Messages come from anywhere: they are cut. */
export function toWanted(type: string, status: unknown, reason: string, message: string = ''): Said {
  checkType(type)
  const refuse = (why: string): never => {
    throw new KopfError('KOPF_CONDITION', `Cannot set the condition "${type}": ${why}`)
  }
  if (!isMatching(reason, reasonPattern, longestReason)) {
    refuse(
      `its reason ${JSON.stringify(reason)} is not one word in CamelCase, such as "DiskFull"; put sentences into the message`,
    )
  }
  if (typeof message !== 'string') refuse(`its message is a text, and not ${JSON.stringify(message)}`)
  const known = toStatus(status) ?? refuse(`its status is true, false or "Unknown", and not ${JSON.stringify(status)}`)
  return { type, status: known, reason, message: message.slice(0, longestMessage).replace(/[\ud800-\udbff]$/, '') }
}

export function checkType(type: unknown): void {
  if (isMatching(type, typePattern, longestType)) return
  const why = 'a type is a word in CamelCase, such as "Ready", with a domain before it where others may have the same'
  throw new KopfError('KOPF_CONDITION', `Cannot have a condition of the type ${JSON.stringify(type)}: ${why}`)
}

function isMatching(text: unknown, pattern: RegExp, longest: number): boolean {
  return typeof text === 'string' && text.length <= longest && pattern.test(text)
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

/** The list itself where it says so already. Fields that we do not know stay. */
export function withCondition(conditions: readonly Condition[], wanted: WantedCondition): readonly Condition[] {
  const { nowMs, generation, ...said } = wanted
  const current = findCondition(conditions, wanted.type)
  if (current !== undefined && saysSo(current, wanted)) return conditions
  const isSameStatus = current?.status === said.status && typeof current.lastTransitionTime === 'string'
  const lastTransitionTime = isSameStatus ? current.lastTransitionTime : formatTime(nowMs)
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  const next = { ...current, ...said, lastTransitionTime, ...observed }
  return current === undefined ? [...conditions, next] : conditions.map((one) => (one === current ? next : one))
}

/** One without a generation does not get one for that alone: a schema that does not know the field would drop it each time. */
function saysSo(current: Condition, { status, reason, message, generation }: WantedCondition): boolean {
  const isSame = current.status === status && current.reason === reason && (current.message ?? '') === message
  const { observedGeneration = generation } = current
  return isSame && (generation === undefined || observedGeneration === generation)
}

/** As metav1.Time is written: whole seconds. */
function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
