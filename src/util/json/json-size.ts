/**
 * Measures JSON text before it is parsed: its depth and the memory of its parsed value. Called for requests from outside, so that a
 * text made to exhaust the stack or the heap is refused unparsed. Does not check the syntax.
 */

/** The text as a string, with two bytes per character, and the strings copied from it. */
const perByte = 2
const perObject = 64
const perList = 56
/** A key that no other object has: V8 keeps the key and a hidden class for it. */
const perKey = 136
const perValue = 24
const perString = 24

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * Estimates the memory of the parsed value from the number of objects, lists, keys, values and strings. Never too low, even for texts
 * made to take as much as possible (29 times their size); for ordinary objects about three times too high. The figures are
 * V8's on 64 bits, measured with frozen values.
 */
export function estimateParsedBytes(text: Uint8Array): number {
  let size = text.length * perByte
  for (let position = 0; position < text.length; position += 1) {
    const byte = text[position]
    if (byte === quote) {
      size += perString
      position = endOfString(text, position)
    } else if (byte === comma) size += perValue
    else if (byte === colon) size += perKey
    else if (byte === openBrace) size += perObject
    else if (byte === openBracket) size += perList
  }
  return size
}

/** The position of the closing quote. */
function endOfString(text: Uint8Array, start: number): number {
  let position = start + 1
  while (position < text.length && text[position] !== quote) position += text[position] === backslash ? 2 : 1
  return position
}

/** Whether the text has more than `maxDepth` levels of objects and lists. Texts too short for that are not read. */
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
    } else if (code === openBrace || code === openBracket) {
      depth += 1
      if (depth > maxDepth) return true
    } else if (code === closeBrace || code === closeBracket) {
      depth -= 1
    }
  }
  return false
}
