/**
 * Removes the segments of a source map that lead to the same position as the segment before: esbuild writes one for each expression, also where
 * the source map of the input has only lines. Without them, the map of a program with packages is a quarter of the size.
 */

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** `mappings` of a source map. The result has no names: a program of `kopf build` keeps the names of the source. */
export function compactMappings(mappings: string): string {
  return mappings.split(';').map(compactLine).join(';')
}

function compactLine(line: string): string {
  const kept: string[] = []
  // Columns are relative to the segment before, so those of removed segments are added to the next one.
  let skippedColumns = 0
  for (const segment of line.split(',')) {
    // A segment has the column, the source, the line and the column there, and possibly a name.
    const [column = '', ...place] = segment.match(/[g-z0-9+/]*[A-Za-f]/g) ?? []
    const position = place.slice(0, 3).join('')
    const columns = skippedColumns + decode(column)
    const isRepeated = position === 'AAA' && kept.length > 0
    if (!isRepeated && segment !== '') kept.push(`${encode(columns)}${position}`)
    skippedColumns = isRepeated ? columns : 0
  }
  return kept.join(',')
}

/** A number of at least 0 in base 64, five bits to a digit, the lowest first; the first bit is the sign. */
export function decode(text: string): number {
  const value = [...text].reduceRight((sum, digit) => sum * 32 + (digits.indexOf(digit) & 31), 0)
  return value >> 1
}

/** The reverse of `decode`. */
export function encode(value: number): string {
  let rest = value << 1
  let text = ''
  do {
    text += digits[(rest & 31) | (rest > 31 ? 32 : 0)]
    rest >>= 5
  } while (rest > 0)
  return text
}
