/** A text as `%q` of Go writes it, near enough to JSON. */
export function goQuote(text: string): string {
  return JSON.stringify(text)
}
