/**
 * The string formats that kube-apiserver recognises, each as a predicate. Unknown formats are ignored, as in kube-apiserver. Oddities
 * (a date-time may end in `z`, an ipv4 may be a mapped ipv6) are its behaviour too.
 */
import { isCidr, isIp, isMac } from './addresses.ts'
import { isEmail } from './email.ts'
import { parseGoUrl } from './go-url.ts'
import { isDate, isDateTime, isDuration } from './times.ts'

export type FormatCheck = (text: string) => boolean

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i
const uuid3 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i
const uuid4 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i
const uuid5 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i
const byteNumber = '(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])'
/** The whitespace of Go's `\\s`; JavaScript's `\\s` matches more. */
const blanks = '[\\t\\n\\f\\r ]*'
const byteNumbers = [byteNumber, byteNumber, byteNumber].join(`${blanks},${blanks}`)
const rgbColor = new RegExp(`^rgb\\(${blanks}${byteNumbers}${blanks}\\)$`)
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/
const creditCard =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/
const shortName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const hostLabel = '[a-zA-Z0-9\\p{S}\\p{L}]'
const hostname = new RegExp(
  `^(${hostLabel}((-?${hostLabel}{0,62})?)|(${hostLabel}(([a-zA-Z0-9\\-\\p{S}\\p{L}]{0,61}${hostLabel})?)(\\.)){1,}([a-zA-Z\\p{L}]){2,63})$`,
  'u',
)

function isHostname(text: string): boolean {
  // Checked before the regular expression, to limit the backtracking.
  if (Buffer.byteLength(text) > 255) return false
  return hostname.test(text) && text.split('.').every((label) => Buffer.byteLength(label) <= 63)
}

function isShortName(text: string): boolean {
  return text.length <= 63 && shortName.test(text)
}

function isLongName(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => shortName.test(label))
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '')
  if (!creditCard.test(digits)) return false
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1)
    return total + (value >= 10 ? (value % 10) + 1 : value)
  }, 0)
  return sum % 10 === 0
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\t\n\f\r -]+/g, '')
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false
  const sum = [...digits].reduce((total, digit, index) => total + (index + 1) * (digit === 'X' ? 10 : Number(digit)), 0)
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\t\n\f\r -]+/g, '')
  if (!/^(?:[0-9]{13})$/.test(digits)) return false
  const sum = [...digits.slice(0, 12)].reduce(
    (total, digit, index) => total + (index % 2 === 0 ? 1 : 3) * Number(digit),
    0,
  )
  return Number(digits[12]) === (10 - (sum % 10)) % 10
}

/** By name without dashes: `date-time` and `datetime` are the same. */
const checks: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ['bsonobjectid', (text) => /^[0-9a-fA-F]{24}$/.test(text)],
  ['uri', (text) => 'url' in parseGoUrl(text, { forRequest: true })],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', (text) => text.includes('.') && isIp(text, { leadingZeros: true })],
  ['ipv6', (text) => text.includes(':') && isIp(text)],
  ['cidr', isCidr],
  ['mac', isMac],
  ['uuid', (text) => uuid.test(text)],
  ['uuid3', (text) => uuid3.test(text)],
  ['uuid4', (text) => uuid4.test(text)],
  ['uuid5', (text) => uuid5.test(text)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', (text) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text)],
  ['rgbcolor', (text) => rgbColor.test(text)],
  ['byte', (text) => base64.test(text)],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['k8sshortname', isShortName],
  ['k8slongname', isLongName],
])

const normalize = (format: string): string => format.replaceAll('-', '')

/** The predicate of a string format. */
export function findFormat(format: string): FormatCheck | undefined {
  return checks.get(normalize(format))
}

/** Formats belong to types; formats of other types are ignored. Also used for the warning when a CRD has such a format. */
export function isSupportedFormat(types: readonly string[], format: string): boolean {
  const type = types.length === 1 ? types[0] : ''
  if (type === '' || type === 'string') return checks.has(normalize(format))
  if (type === 'integer') return format === 'int32' || format === 'int64'
  if (type === 'number') return format === 'float' || format === 'double'
  return false
}
