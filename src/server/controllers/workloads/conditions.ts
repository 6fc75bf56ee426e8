/** Status conditions. Pure. */
import type { StatusCondition } from './shapes.ts'
import { formatTime } from './times.ts'

/** Unchanged if status and reason are the same. If only the reason changes, lastTransitionTime stays. */
export function setCondition(
  known: readonly StatusCondition[],
  condition: StatusCondition,
  nowMs: number,
): readonly StatusCondition[] {
  const before = known.find(({ type }) => type === condition.type)
  if (before?.status === condition.status && before.reason === condition.reason) return known
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : undefined
  const after = { ...condition, lastTransitionTime: lastTransitionTime ?? formatTime(nowMs) }
  return [...withoutCondition(known, condition.type), after]
}

export function withoutCondition(known: readonly StatusCondition[], type: string): readonly StatusCondition[] {
  return known.some((condition) => condition.type === type) ? known.filter((one) => one.type !== type) : known
}
