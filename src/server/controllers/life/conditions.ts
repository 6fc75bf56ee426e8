/** Conditions in a status. Pure. */
import type { Condition } from './shapes.ts'
import { formatTime } from './times.ts'

/** One that says the same for the same reason stays as it is; one that only has another reason keeps the time of its change. */
export function setCondition(known: readonly Condition[], condition: Condition, nowMs: number): readonly Condition[] {
  const before = known.find(({ type }) => type === condition.type)
  if (before?.status === condition.status && before.reason === condition.reason) return known
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : undefined
  const after = { ...condition, lastTransitionTime: lastTransitionTime ?? formatTime(nowMs) }
  return [...withoutCondition(known, condition.type), after]
}

export function withoutCondition(known: readonly Condition[], type: string): readonly Condition[] {
  return known.some((condition) => condition.type === type) ? known.filter((one) => one.type !== type) : known
}
