/** "Did you mean": which of the known names somebody meant who wrote another one. For error messages only. */

/** The known name nearest to the given one, or undefined where none is near enough to be a slip of the pen. */
export function suggestName(given: string, known: readonly string[]): string | undefined {
  const wanted = normalized(given)
  const exact = known.find((name) => normalized(name) === wanted)
  if (exact !== undefined) return exact
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const name of known) {
    const distance = distanceBetween(wanted, normalized(name), bestDistance)
    if (distance < bestDistance) [best, bestDistance] = [name, distance]
  }
  return best
}

/** `worker_limit`, `workerLimit` and `WorkerLimit` are one name to whoever comes from another language. */
function normalized(name: string): string {
  return name.slice(0, 100).replaceAll(/[-_]/g, '').toLowerCase()
}

/** Levenshtein's distance, row by row; anything beyond the limit is as good as the limit. */
function distanceBetween(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      current.push(Math.min(replaced, previous[j]! + 1, current[j - 1]! + 1))
    }
    previous = current
  }
  return Math.min(previous[b.length]!, limit)
}
