/** Whether a value can cross from one thread to another. */

export function canClone(value: unknown): boolean {
  if (typeof value === 'function' || typeof value === 'symbol') return false
  if (typeof value !== 'object' || value === null) return true
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}
