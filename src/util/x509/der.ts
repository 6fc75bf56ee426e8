/**
 * Writes and reads DER, the encoding of X.509 certificates: ITU-T X.690. Contains the types that certificates need, and no others. Pure. Used by
 * certificate.ts.
 */

/** The tags of X.690 for the types of this file. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** One element: its tag, the length of its contents, and its contents. */
export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(body.length)]), body])
}

/** Lengths below 128 take one byte. Others take as few bytes as possible, after a byte with their number. */
function lengthBytes(length: number): readonly number[] {
  if (length < 0x80) return [length]
  const bytes = toBytes(length)
  return [0x80 | bytes.length, ...bytes]
}

/** The bytes of a positive integer, without leading zeros. */
function toBytes(value: number): readonly number[] {
  const bytes: number[] = []
  for (let rest = value; rest > 0; rest = Math.floor(rest / 0x100)) bytes.unshift(rest % 0x100)
  return bytes
}

export function sequence(...contents: readonly Uint8Array[]): Buffer {
  return element(tags.sequence, ...contents)
}

/** An element with the number of a field in place of a type: `[number] IMPLICIT` for a simple type. */
export function implicit(number: number, contents: Uint8Array): Buffer {
  return element(0x80 | number, contents)
}

/** `[number] EXPLICIT`: an element around another element. */
export function explicit(number: number, content: Uint8Array): Buffer {
  return element(0xa0 | number, content)
}

/** A positive integer, from its bytes. The first bit is the sign, so that a number that starts with a set bit needs a zero before it. */
export function integer(bytes: Uint8Array): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0)
  const digits = start === -1 ? Buffer.alloc(1) : bytes.subarray(start)
  return element(tags.integer, ...(digits[0]! >= 0x80 ? [Buffer.alloc(1)] : []), digits)
}

/** The first two numbers share a byte. The others are written in groups of 7 bits, of which all but the last have the first bit set. */
export function objectIdentifier(text: string): Buffer {
  const [first, second, ...others] = text.split('.').map(Number)
  const bytes = [first! * 40 + second!, ...others].flatMap((number) => {
    const groups = [number % 0x80]
    for (let rest = Math.floor(number / 0x80); rest > 0; rest = Math.floor(rest / 0x80)) {
      groups.unshift(0x80 | (rest % 0x80))
    }
    return groups
  })
  return element(tags.objectIdentifier, Buffer.from(bytes))
}

export function utf8String(text: string): Buffer {
  return element(tags.utf8String, Buffer.from(text, 'utf8'))
}

export function octetString(contents: Uint8Array): Buffer {
  return element(tags.octetString, contents)
}

/** `unusedBits`: the number of bits at the end that do not belong to the string. */
export function bitString(contents: Uint8Array, unusedBits: number = 0): Buffer {
  return element(tags.bitString, Buffer.from([unusedBits]), contents)
}

/** DER omits false, which is the default in certificates. */
export const yes: Buffer = element(tags.boolean, Buffer.from([0xff]))

const endOfTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59)

/**
 * A time in whole seconds, as RFC 5280 demands: two digits of the year from 1950 to 2049, four digits otherwise. A later time than the year 9999 becomes
 * its last second, which means "no end".
 */
export function time(ms: number): Buffer {
  const digits = new Date(Math.min(ms, endOfTimeMs)).toISOString().replaceAll(/\.\d+|[-:T]/g, '')
  const year = Number(digits.slice(0, 4))
  return year >= 1950 && year < 2050
    ? element(tags.utcTime, Buffer.from(digits.slice(2), 'ascii'))
    : element(tags.generalizedTime, Buffer.from(digits, 'ascii'))
}

/** An element that was read. */
export interface DerElement {
  readonly tag: number
  readonly contents: Buffer
  /** The element itself. */
  readonly bytes: Buffer
}

/** The elements that are one after the other in these bytes. Throws if they are incomplete. */
export function readElements(bytes: Buffer): readonly DerElement[] {
  const found: DerElement[] = []
  for (let offset = 0; offset < bytes.length; offset += found.at(-1)!.bytes.length) {
    found.push(readElement(bytes.subarray(offset)))
  }
  return found
}

function readElement(bytes: Buffer): DerElement {
  const [tag = 0, first = 0] = bytes
  // The number of bytes with the length. 0x80 alone means "until an end mark", which DER does not allow. Certificates are shorter than four bytes can say.
  const count = first < 0x80 ? 0 : first & 0x7f
  const start = 2 + count
  if (bytes.length < start || first === 0x80 || count > 4)
    throw new RangeError('Cannot read DER: an element has no valid length')
  const end = start + (count === 0 ? first : bytes.readUIntBE(2, count))
  if (end > bytes.length) throw new RangeError('Cannot read DER: an element is longer than the text around it')
  return { tag, contents: bytes.subarray(start, end), bytes: bytes.subarray(0, end) }
}
