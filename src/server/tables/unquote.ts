/** Unquotes Go strings, for jsonpath-parser.ts, where both quotes are allowed. */

const simpleEscapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
}

const escapes = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))|(['"])/gs

/** The text between the quotes; undefined if Go would reject it. */
export function unquote(quoted: string): string | undefined {
  const quote = quoted[0]!
  let isValid = quoted.length >= 2 && quoted.endsWith(quote)
  const text = quoted.slice(1, -1).replace(escapes, (match, hex, short, long, octal, simple, bare) => {
    if (bare !== undefined) {
      isValid &&= bare !== quote
      return match
    }
    const digits: string | undefined = hex ?? short ?? long
    if (digits !== undefined) return decode(Number.parseInt(digits, 16))
    if (octal !== undefined) return decode(Number.parseInt(octal, 8))
    const value = simpleEscapes[simple]
    // Only the enclosing quote may be escaped.
    isValid &&= value !== undefined && (!/['"]/.test(simple) || simple === quote)
    return value ?? ''
  })
  return isValid ? text : undefined

  function decode(code: number): string {
    isValid &&= code <= 0x10ffff
    return isValid ? String.fromCodePoint(code) : ''
  }
}
