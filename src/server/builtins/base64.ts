/**
 * Decodes Base64 like Go's decoder: padding is required, line breaks are allowed anywhere, and any other character is an error
 * with its position.
 */

/** The canonical Base64 text, or Go's error message. */
export function parseBase64(text: string): { readonly text: string } | { readonly error: string } {
  const padding = text.search(/=/)
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index]!
    const isPadding = padding !== -1 && index >= padding && char === '='
    if (!/[A-Za-z0-9+/\r\n]/.test(char) && !isPadding) return corrupt(index)
  }
  const plain = text.replace(/[\r\n]/g, '')
  const misplaced = /=(?!=?$)/.exec(plain)
  if (misplaced) return corrupt(misplaced.index + 1)
  const partial = plain.length % 4
  if (partial !== 0) return corrupt(text.length - partial)
  return { text: Buffer.from(plain, 'base64').toString('base64') }
}

function corrupt(position: number): { readonly error: string } {
  return { error: `illegal base64 data at input byte ${position}` }
}

/** Number of bytes that a canonical Base64 text encodes. */
export function base64Length(text: string): number {
  return Buffer.byteLength(text, 'base64')
}
