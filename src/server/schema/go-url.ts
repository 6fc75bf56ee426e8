/** URLs as Go's `net/url` parses them, which differs from browsers. Used for the format `uri` and the URLs of webhooks. */

import { isIp } from './addresses.ts'

interface ParsedGoUrl {
  readonly scheme: string
  readonly user: string | undefined
  readonly host: string
  readonly path: string
  readonly query: string
  readonly fragment: string
}

export interface GoUrlOptions {
  /** As in a request line: an absolute URL or path, and `#` does not start a fragment. */
  readonly forRequest?: boolean
}

type Parsed = { readonly url: ParsedGoUrl } | { readonly problem: string }

export function parseGoUrl(text: string, { forRequest = false }: GoUrlOptions = {}): Parsed {
  const hash = forRequest ? -1 : text.indexOf('#')
  const parsed = parseRest(hash < 0 ? text : text.slice(0, hash), forRequest)
  if (!('url' in parsed)) return { problem: `parse ${JSON.stringify(text)}: ${parsed.problem}` }
  const fragment = hash < 0 ? '' : text.slice(hash + 1)
  const problem = escapeProblem(fragment)
  return problem ? { problem: `parse ${JSON.stringify(text)}: ${problem}` } : { url: { ...parsed.url, fragment } }
}

function parseRest(text: string, forRequest: boolean): Parsed {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression rejects control characters
  if (/[\x00-\x1f\x7f]/.test(text)) return { problem: 'net/url: invalid control character in URL' }
  if (text === '' && forRequest) return { problem: 'empty url' }
  if (text.startsWith(':')) return { problem: 'missing protocol scheme' }
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text)?.[1] ?? ''
  const afterScheme = scheme === '' ? text : text.slice(scheme.length + 1)
  const [rest, query] = splitAt(afterScheme, '?')
  const empty = { scheme: scheme.toLowerCase(), user: undefined, host: '', path: '', query, fragment: '' }
  if (text === '*') return { url: { ...empty, path: '*' } }
  if (!rest.startsWith('/')) return parseRelative(empty, rest, forRequest)
  const hasAuthority = rest.startsWith('//') && (scheme !== '' || (!forRequest && !rest.startsWith('///')))
  if (!hasAuthority) return withPath(empty, rest)
  const slash = rest.indexOf('/', 2)
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash)
  const problem = authorityProblem(empty.scheme, authority)
  if (problem) return { problem }
  const at = authority.lastIndexOf('@')
  const user = at < 0 ? undefined : authority.slice(0, at)
  return withPath({ ...empty, user, host: authority.slice(at + 1) }, slash < 0 ? '' : rest.slice(slash))
}

function parseRelative(url: ParsedGoUrl, rest: string, forRequest: boolean): Parsed {
  if (url.scheme !== '') return { url }
  if (forRequest) return { problem: 'invalid URI for request' }
  if (splitAt(rest, '/')[0].includes(':')) return { problem: 'first path segment in URL cannot contain colon' }
  return withPath(url, rest)
}

function withPath(url: ParsedGoUrl, path: string): Parsed {
  const problem = escapeProblem(path)
  return problem ? { problem } : { url: { ...url, path } }
}

function authorityProblem(scheme: string, authority: string): string | undefined {
  const at = authority.lastIndexOf('@')
  const user = authority.slice(0, Math.max(at, 0))
  const problem = hostProblem(scheme, authority.slice(at + 1))
  if (problem) return problem
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) return 'net/url: invalid userinfo'
  return escapeProblem(user)
}

function hostProblem(scheme: string, host: string): string | undefined {
  const open = host.lastIndexOf('[')
  if (open > 0) return 'invalid IP-literal'
  if (open === 0) return literalProblem(host)
  // Other schemes allow lists of hosts with ports.
  const isStrict = scheme === 'http' || scheme === 'https'
  const colon = isStrict ? host.indexOf(':') : host.lastIndexOf(':')
  return portProblem(colon < 0 ? '' : host.slice(colon)) ?? hostTextProblem(host)
}

/** `[::1]:80`, also with a zone: `[fe80::1%25en0]`. */
function literalProblem(host: string): string | undefined {
  const close = host.lastIndexOf(']')
  if (close < 0) return "missing ']' in host"
  const inside = host.slice(1, close)
  const problem = portProblem(host.slice(close + 1)) ?? hostTextProblem(inside)
  if (problem) return problem
  const zone = inside.indexOf('%25')
  const address = zone < 0 ? inside : inside.slice(0, zone)
  if (isIp(address)) return address.includes(':') ? undefined : 'invalid IP-literal'
  return `invalid host: ParseAddr(${JSON.stringify(inside)}): unable to parse IP`
}

function portProblem(port: string): string | undefined {
  return /^(?::[0-9]*)?$/.test(port) ? undefined : `invalid port ${JSON.stringify(port)} after host`
}

/** ASCII characters may not be escaped in a host, except the percent sign and the part after it in a zone. */
function hostTextProblem(host: string): string | undefined {
  const bad = /[^A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"%\u0080-\uffff]/.exec(host)
  if (bad) return `invalid character ${JSON.stringify(bad[0])} in host name`
  const zone = host.indexOf('%25')
  const escaped = /%(?!25)[0-7][0-9a-fA-F]/.exec(zone < 0 ? host : host.slice(0, zone))
  return escapeProblem(host) ?? (escaped ? `invalid URL escape ${JSON.stringify(escaped[0])}` : undefined)
}

function escapeProblem(text: string): string | undefined {
  const bad = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(text)
  return bad ? `invalid URL escape ${JSON.stringify(bad[0])}` : undefined
}

function splitAt(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator)
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)]
}
