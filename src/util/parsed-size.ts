/**
 * Estimates how much memory JSON takes once it is parsed, from its text: from the number of its objects, lists, keys,
 * values and strings. Never less than it really takes, for texts made to take as much as possible (up to 29 times their size);
 * for ordinary objects about three times as much. The figures are V8's on 64 bits, measured with frozen values.
 */

/** The text itself as a string, with two bytes for each character, and the strings that are copied out of it. */
const perByte = 2
const perObject = 64
const perList = 56
/** Keys that no other object has: they and the shape they make are kept for each object. */
const perKey = 136
const perValue = 24
const perString = 24

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const bracket = 0x5b
const brace = 0x7b

export function estimateParsedBytes(text: Uint8Array): number {
  let size = text.length * perByte
  for (let position = 0; position < text.length; position += 1) {
    const byte = text[position]
    if (byte === quote) {
      size += perString
      position = endOfString(text, position)
    } else if (byte === comma) size += perValue
    else if (byte === colon) size += perKey
    else if (byte === brace) size += perObject
    else if (byte === bracket) size += perList
  }
  return size
}

/** The position of the closing quote. */
function endOfString(text: Uint8Array, start: number): number {
  let position = start + 1
  while (position < text.length && text[position] !== quote) position += text[position] === backslash ? 2 : 1
  return position
}
