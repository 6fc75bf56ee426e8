/** Parses and formats the completed indexes of a Job: `0-3,5`. Pure. */

export function parseIndexes(text: string | undefined): Set<number> {
  const indexes = new Set<number>()
  for (const range of text ? text.split(',') : []) {
    const [first = 0, last = first] = range.split('-').map(Number)
    for (let index = first; index <= last; index += 1) indexes.add(index)
  }
  return indexes
}

export function formatIndexes(indexes: Iterable<number>): string {
  const ranges: Array<[number, number]> = []
  for (const index of [...indexes].sort((one, other) => one - other)) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === index - 1) last[1] = index
    else ranges.push([index, index])
  }
  return ranges.map(formatRange).join(',')
}

/** Two consecutive indexes are written as `1,2`, not as a range. */
function formatRange([first, last]: [number, number]): string {
  if (first === last) return String(first)
  return `${first}${last === first + 1 ? ',' : '-'}${last}`
}
