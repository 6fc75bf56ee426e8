/**
 * Mail addresses as Go's `net/mail` parses them (RFC 5322): `a@b`, a name with the address in angle brackets, or a group with one
 * address. Comments may follow an address, but may not be nested; obsolete forms are not supported.
 */
import { isIp } from './addresses.ts'

const atomText = "[A-Za-z0-9!#$%&'*+\\-/=?^_`{|}~\\u0080-\\uffff]"
const dotAtom = `${atomText}+(?:\\.${atomText}+)*`
const quotedText = '(?:[\\x20\\t!\\x23-\\x5b\\x5d-\\x7e\\u0080-\\uffff]|\\\\[\\x20-\\x7e\\t\\u0080-\\uffff])'
const address = new RegExp(`^(?:${dotAtom}|"${quotedText}+")@[ \\t]*(?:${dotAtom}|\\[([^\\[\\]\\\\]*)\\])$`)
const name = new RegExp(`^(?:${atomText}|"${quotedText}*"|[ \\t.])*$`)
const commentAtEnd = /[ \t]*\((?:[^()\\]|\\.)*\)[ \t]*$/
const unknownCharset = /=\?(?!utf-8\?|iso-8859-1\?|us-ascii\?)[^?]*\?[qb]\?[^?]*\?=/i

/** No address is longer. Limits the backtracking. */
const maxLength = 2000

export function isEmail(text: string): boolean {
  if (text.length > maxLength) return false
  const bare = withoutComments(trimBlanks(text))
  const colon = bare.endsWith(';') ? bare.indexOf(':') : -1
  if (colon < 0) return isOne(bare)
  return isName(bare.slice(0, colon)) && isOne(withoutComments(trimBlanks(bare.slice(colon + 1, -1))))
}

function isOne(text: string): boolean {
  if (!text.endsWith('>')) return isAddress(text)
  const open = text.lastIndexOf('<')
  return open >= 0 && isName(text.slice(0, open)) && isAddress(text.slice(open + 1, -1))
}

function isAddress(text: string): boolean {
  const match = address.exec(text)
  return match !== null && (match[1] === undefined || isIp(match[1]))
}

function isName(text: string): boolean {
  return name.test(text) && !unknownCharset.test(text)
}

function trimBlanks(text: string): string {
  return text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '')
}

function withoutComments(text: string): string {
  let rest = text
  while (rest.endsWith(')') && commentAtEnd.test(rest)) rest = rest.replace(commentAtEnd, '')
  return rest
}
