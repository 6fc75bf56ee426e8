/** Quotes a string like Go's `%q`, approximated by JSON. */
export function goQuote(text: string): string {
  return JSON.stringify(text)
}
