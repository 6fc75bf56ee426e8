/** Trims a character from the ends of a text in linear time; a regular expression can be quadratic for megabytes of that character. */

/** Removes all occurrences of the character at the end. */
export function trimEnd(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}

/** Removes all occurrences of the character at both ends. */
export function trim(text: string, character: string): string {
  let start = 0
  while (start < text.length && text[start] === character) start += 1
  return trimEnd(text.slice(start), character)
}
