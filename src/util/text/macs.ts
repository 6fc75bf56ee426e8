/** Keys and message authentication codes (HMAC-SHA256, RFC 2104), for the stored results of steps. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** The length of new keys and the minimum length of given keys: HMAC-SHA256 has a strength of 256 bits. */
export const keyBytes = 32

export function createKey(): Uint8Array {
  return randomBytes(keyBytes)
}

/** The code of a text, as 43 characters of base64url. */
export function macText(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text, 'utf8').digest('base64url')
}

/** Compares in a time that depends on the lengths only, so that a code cannot be guessed character by character. */
export function isSameMac(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
