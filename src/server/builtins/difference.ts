/**
 * Formats a unified diff of two objects, for messages that reject a change. The real server prints its internal types; this
 * diff prints the API's JSON, so its field names are those of the client.
 */
const context = 3

export function describeDifference(before: unknown, after: unknown): string {
  const [old, next] = [toLines(before), toLines(after)]
  let start = 0
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1
  let end = 0
  while (end < Math.min(old.length, next.length) - start && old[old.length - 1 - end] === next[next.length - 1 - end])
    end += 1
  const from = Math.max(0, start - context)
  const tail = old.slice(old.length - end, old.length - end + context)
  const lengths = [old, next].map((lines) => lines.length - end + tail.length - from)
  return [
    `@@ -${from + 1},${lengths[0]} +${from + 1},${lengths[1]} @@`,
    ...old.slice(from, start).map((line) => ` ${line}`),
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...next.slice(start, next.length - end).map((line) => `+${line}`),
    ...tail.map((line) => ` ${line}`),
    '',
  ].join('\n')
}

function toLines(value: unknown): string[] {
  return JSON.stringify(sortKeys(value), undefined, 1).split('\n')
}

/** Recursion is safe: only decoded objects get here, and their types limit the depth. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(
    ([, child]) => child !== undefined && !(Array.isArray(child) && child.length === 0),
  )
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, child]) => [key, sortKeys(child)]))
}
