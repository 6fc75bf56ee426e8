/** Base64 as Go's decoder takes it: padded, line breaks allowed anywhere, everything else refused with its position. */

/** The canonical text, or Go's error. */
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

/** How many bytes a canonical text stands for. */
export function base64Length(text: string): number {
  return Buffer.byteLength(text, 'base64')
}
