/** Short digests of texts: stable across machines, not reversible. */
import { createHash, createHmac } from 'node:crypto'

/** 128 bits of SHA-256, as 22 characters that are safe in keys and URLs. */
export function digestText(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

/** As `digestText`, for a text in pieces. */
export function createDigest(): { readonly add: (piece: string) => void; readonly end: () => string } {
  const hash = createHash('sha256')
  return { add: (piece) => void hash.update(piece), end: () => hash.digest('base64url').slice(0, 22) }
}

/** 32 bits of SHA-256 in hexadecimal: enough to tell a few similar names apart. */
export function digestInHex(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

/** 64 bits of HMAC-SHA256 in hexadecimal: equal texts have equal digests under one key, and unrelated ones under another. */
export function digestWithKey(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex').slice(0, 16)
}
