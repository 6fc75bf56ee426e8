/** Formats warnings as `Warning` headers. Pure. */

/** kube-apiserver's limits: if all warnings together are longer, each is cut, and warnings are added until this length is reached. */
const maxCharacters = 4096
const shortenedCharacters = 256

/** Each warning once. Warnings that cannot be sent in a header are omitted: keys come from clients and may contain line breaks. */
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
  // Control characters and lone surrogates.
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
