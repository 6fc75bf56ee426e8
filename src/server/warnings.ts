/** What the client should know beside the answer, as `Warning` headers. Pure. */

/** The real server's: with more characters than this in all, each warning is cut short, until there are as many again. */
const maxCharacters = 4096
const shortenedCharacters = 256

/** Each once. What cannot stand in a header is left out: keys come from clients, line breaks and all. */
export function warningHeaders(texts: readonly string[]): string[] {
  const wanted = [...new Set(texts)].filter((text) => text !== '')
  const sayable = wanted.filter(isSayable)
  if (sumOf(sayable) <= maxCharacters) return sayable.map(toHeader)
  const shortened: string[] = []
  for (const text of wanted.map(shorten).filter(isSayable)) {
    if (sumOf(shortened) >= maxCharacters) break
    shortened.push(text)
  }
  return shortened.map(toHeader)
}

function isSayable(text: string): boolean {
  // Control characters, and halves of characters.
  return !/[\p{Cc}\p{Cs}]/u.test(text)
}

function sumOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + [...text].length, 0)
}

function shorten(text: string): string {
  return [...text].slice(0, shortenedCharacters).join('')
}

function toHeader(text: string): string {
  return `299 - "${text.replace(/[\\"]/g, '\\$&')}"`
}
