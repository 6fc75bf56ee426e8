/** Suggests a known name for a misspelt one, for error messages. */

/** The known name closest to the given one; undefined if none is close enough for a typing error. */
export function suggestName(given: string, known: readonly string[]): string | undefined {
  const target = normalized(given)
  const exact = known.find((name) => normalized(name) === target)
  if (exact !== undefined) return exact
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(target.length / 3)) + 1
  for (const name of known) {
    const distance = distanceBetween(target, normalized(name), bestDistance)
    if (distance < bestDistance) [best, bestDistance] = [name, distance]
  }
  return best
}

/** How many names a message lists. */
const maxListed = 10

/** `"a", "b" and 3 more` */
export function listNames(names: readonly string[]): string {
  const listed = names.slice(0, maxListed).map((name) => JSON.stringify(name))
  const more = names.length - listed.length
  return `${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Ignores case and separators: `worker_limit`, `workerLimit` and `WorkerLimit` are equal. */
function normalized(name: string): string {
  return name.slice(0, 100).replaceAll(/[-_]/g, '').toLowerCase()
}

/** The number of typing errors between two texts, at most the limit: a missing, additional or other character, or two swapped ones. */
function distanceBetween(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? beforePrevious[j - 2]! + 1 : Infinity
      current.push(Math.min(replaced, swapped, previous[j]! + 1, current[j - 1]! + 1))
    }
    beforePrevious = previous
    previous = current
  }
  return Math.min(previous[b.length]!, limit)
}
