/** Texts cut to size, in time that grows with their length and no faster: clients may send megabytes of one character. */

/** Without this character at the end, however often it is there. */
export function trimEnd(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}

/** Without this character at both ends. */
export function trim(text: string, character: string): string {
  let start = 0
  while (start < text.length && text[start] === character) start += 1
  return trimEnd(text.slice(start), character)
}
