/**
 * JSON as Go's encoder writes it: keys sorted, `<`, `>` and `&` escaped. For messages and comparisons that must match Go's. Does not
 * recurse, since the values come from clients.
 */

const htmlEscapes: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
}

function formatText(text: string): string {
  return JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, (character) => htmlEscapes[character]!)
}

/** Go uses exponents for the same numbers as JavaScript, but writes them with two digits at least. */
function formatNumber(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value).replace(/e([+-])(\d)$/, 'e$10$2')
}

function formatScalar(value: unknown): string {
  if (typeof value === 'string') return formatText(value)
  if (typeof value === 'number') return formatNumber(value)
  if (typeof value === 'bigint') return String(value)
  return JSON.stringify(value ?? null)
}

/** Text on the stack between values. */
class Piece {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

function childrenOf(value: object): unknown[] {
  if (Array.isArray(value)) {
    const pieces = value.flatMap((child, index) => (index === 0 ? [child] : [new Piece(','), child]))
    return [new Piece('['), ...pieces, new Piece(']')]
  }
  const fields = value as Record<string, unknown>
  const keys = Object.keys(fields).sort()
  const pieces = keys.flatMap((key, index) => {
    return [new Piece(`${index === 0 ? '' : ','}${formatText(key)}:`), fields[key]]
  })
  return [new Piece('{'), ...pieces, new Piece('}')]
}

export function goJson(root: unknown): string {
  const stack: unknown[] = [root]
  let text = ''
  while (stack.length > 0) {
    const value = stack.pop()
    if (value instanceof Piece) text += value.text
    else if (typeof value !== 'object' || value === null) text += formatScalar(value)
    else for (const child of childrenOf(value).reverse()) stack.push(child)
  }
  return text
}
