/**
 * Mail addresses as Go's `net/mail` parses them (RFC 5322): `a@b`, or a name and the address in angle brackets. Comments and
 * the obsolete forms are not understood.
 */

const atomText = "[A-Za-z0-9!#$%&'*+\\-/=?^_`{|}~\\u0080-\\uffff]"
const dotAtom = `${atomText}+(?:\\.${atomText}+)*`
const quoted = '"(?:[^"\\\\\\r\\n]|\\\\.)*"'
const address = new RegExp(`^(?:${dotAtom}|${quoted})@(?:${dotAtom}|\\[[^\\[\\]\\\\]*\\])$`)
const name = new RegExp(`^(?:${atomText}|${quoted}|[ \\t.])*$`)

/** No address is longer than this; longer texts are not worth their backtracking. */
const maxLength = 2000

export function isEmail(text: string): boolean {
  const trimmed = text.trim()
  if (trimmed.length > maxLength) return false
  if (!trimmed.endsWith('>')) return address.test(trimmed)
  const open = trimmed.lastIndexOf('<')
  return open >= 0 && name.test(trimmed.slice(0, open)) && address.test(trimmed.slice(open + 1, -1).trim())
}
