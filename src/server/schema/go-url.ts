/**
 * URLs as Go's `net/url` parses them, which is far from what browsers do: the format `uri` and the URLs of webhooks are
 * judged by it.
 */

interface GoUrl {
  readonly scheme: string
  readonly user: string | undefined
  readonly host: string
  readonly path: string
  readonly query: string
  readonly fragment: string
}

export interface GoUrlOptions {
  /** As in a request line: an absolute URL or an absolute path, and `#` is no fragment. */
  readonly forRequest?: boolean
}

type Parsed = { readonly url: GoUrl } | { readonly problem: string }

export function parseGoUrl(text: string, { forRequest = false }: GoUrlOptions = {}): Parsed {
  const hash = forRequest ? -1 : text.indexOf('#')
  const parsed = parseRest(hash < 0 ? text : text.slice(0, hash), forRequest)
  if (!('url' in parsed)) return { problem: `parse ${JSON.stringify(text)}: ${parsed.problem}` }
  const fragment = hash < 0 ? '' : text.slice(hash + 1)
  const problem = escapeProblem(fragment)
  return problem ? { problem: `parse ${JSON.stringify(text)}: ${problem}` } : { url: { ...parsed.url, fragment } }
}

function parseRest(text: string, forRequest: boolean): Parsed {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused here
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
  const problem = authorityProblem(authority)
  if (problem) return { problem }
  const at = authority.lastIndexOf('@')
  const user = at < 0 ? undefined : authority.slice(0, at)
  return withPath({ ...empty, user, host: authority.slice(at + 1) }, slash < 0 ? '' : rest.slice(slash))
}

function parseRelative(url: GoUrl, rest: string, forRequest: boolean): Parsed {
  if (url.scheme !== '') return { url }
  if (forRequest) return { problem: 'invalid URI for request' }
  if (splitAt(rest, '/')[0].includes(':')) return { problem: 'first path segment in URL cannot contain colon' }
  return withPath(url, rest)
}

function withPath(url: GoUrl, path: string): Parsed {
  const problem = escapeProblem(path)
  return problem ? { problem } : { url: { ...url, path } }
}

function authorityProblem(authority: string): string | undefined {
  const at = authority.lastIndexOf('@')
  if (at >= 0 && !/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(authority.slice(0, at))) return 'net/url: invalid userinfo'
  const host = authority.slice(at + 1)
  const bracket = host.startsWith('[') ? host.lastIndexOf(']') : -1
  if (host.startsWith('[') && bracket < 0) return "missing ']' in host"
  const port = bracket >= 0 ? host.slice(bracket + 1) : (/:[^:]*$/.exec(host)?.[0] ?? '')
  if (!/^(?::[0-9]*)?$/.test(port)) return `invalid port ${JSON.stringify(port)} after host`
  const bad = /[^A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"%\u0080-\uffff]/.exec(host)
  if (bad) return `invalid character ${JSON.stringify(bad[0])} in host name`
  return escapeProblem(host)
}

function escapeProblem(text: string): string | undefined {
  const bad = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(text)
  return bad ? `invalid URL escape ${JSON.stringify(bad[0])}` : undefined
}

function splitAt(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator)
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)]
}
