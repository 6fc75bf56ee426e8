/** Keys and message authentication codes (HMAC-SHA256, RFC 2104). Knows nothing of what is signed. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** The length of a new key, and the least length of a key that is given: HMAC-SHA256 is no stronger than 256 bits. */
export const keyBytes = 32

export function createKey(): Uint8Array {
  return randomBytes(keyBytes)
}

/** 43 characters of base64url. */
export function macText(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text, 'utf8').digest('base64url')
}

/** The time it takes depends on the lengths alone, so that an attacker cannot guess a code character by character. */
export function isSameMac(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
