/** Freezing values all the way down. Does not recurse: a stranger decides how deep they are. */
import { isContainer } from './json.ts'

/** What is frozen already counts as frozen all the way down: frozen things are only made here. */
export function deepFreeze<T>(value: T): T {
  if (!isContainer(value) || Object.isFrozen(value)) return value
  const pending: object[] = [value]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    Object.freeze(next)
    for (const inner of Object.values(next)) {
      if (isContainer(inner) && !Object.isFrozen(inner)) pending.push(inner)
    }
  }
  return value
}
