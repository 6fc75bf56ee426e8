/** How deep a JSON text is, without parsing it. Used where requests come from outside: before anything walks over their contents. */

const quote = 0x22
const backslash = 0x5c

/** Whether a JSON text has more levels of objects and lists than that. Reads the text once; texts that are too short cost nothing. */
export function isDeeperThan(text: string, maxDepth: number): boolean {
  if (text.length <= 2 * maxDepth) return false
  let depth = 0
  let isInString = false
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (isInString) {
      if (code === backslash) index += 1
      else if (code === quote) isInString = false
    } else if (code === quote) {
      isInString = true
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1
      if (depth > maxDepth) return true
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1
    }
  }
  return false
}
