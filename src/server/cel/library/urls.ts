/** `url('https://…')` and `format.named('…')`: validated strings. */
import {
  label1035NameProblems,
  labelNameProblems,
  labelValueProblems,
  qualifiedNameProblems,
  subdomainNameProblems,
} from '../../names.ts'
import { findFormat } from '../../schema/formats.ts'
import { parseGoUrl } from '../../schema/go-url.ts'
import { fail } from '../failures.ts'
import { global, type Library, member, type Overload } from '../functions.ts'
import { boolType, listOf, mapOf, optionalOf, stringType, struct } from '../types.ts'
import { ArrayList, type CelValue, HashMap, Opaque, Optional } from '../values.ts'

const urlType = struct('kubernetes.URL')
const formatType = struct('kubernetes.NamedFormat')

type ParsedUrl = Extract<ReturnType<typeof parseGoUrl>, { readonly url: unknown }>['url']

class Url extends Opaque {
  readonly typeName = 'kubernetes.URL'
  readonly url: ParsedUrl

  constructor(url: ParsedUrl) {
    super()
    this.url = url
  }

  equals(other: Opaque): boolean {
    return JSON.stringify((other as Url).url) === JSON.stringify(this.url)
  }

  get hostname(): string {
    const { host } = this.url
    return host.startsWith('[') ? host.slice(1, host.lastIndexOf(']')) : host.replace(/:[^:]*$/, '')
  }

  get port(): string {
    return /:([0-9]*)$/.exec(this.url.host.replace(/^\[.*\]/, ''))?.[1] ?? ''
  }

  /** The original path if its encoding is valid, otherwise escaped again. */
  get escapedPath(): string {
    const { path } = this.url
    if (/^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@[\]/]|%[0-9a-fA-F]{2})*$/.test(path)) return path
    return encodeURI(decodePart(path)).replace(/[?#[\]]/g, (one) => encodeURIComponent(one))
  }

  get query(): HashMap {
    const found = new Map<string, string[]>()
    for (const pair of this.url.query.split('&')) {
      const at = pair.indexOf('=')
      const [key, value] = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
      if (pair === '' || pair.includes(';') || /%(?![0-9a-fA-F]{2})/.test(pair)) continue
      const name = decodePart(key.replaceAll('+', ' '))
      found.set(name, [...(found.get(name) ?? []), decodePart(value.replaceAll('+', ' '))])
    }
    const map = new HashMap()
    for (const [key, values] of found) map.set(key, new ArrayList(values))
    return map
  }
}

function decodePart(text: string): string {
  return Buffer.from(
    text.replace(/(?:%[0-9a-fA-F]{2})+/g, (part) => Buffer.from(part.replaceAll('%', ''), 'hex').toString()),
  ).toString()
}

function toUrl(text: string): Url {
  const words = 'URL parse error during conversion from string'
  const forRequest = parseGoUrl(text, { forRequest: true })
  if ('problem' in forRequest) return fail(`${words}: ${forRequest.problem}`)
  const parsed = parseGoUrl(text)
  return 'problem' in parsed ? fail(`${words}: ${parsed.problem}`) : new Url(parsed.url)
}

const ofUrl = (id: string, read: (url: Url) => string): Overload =>
  member(id, [urlType], stringType, ([url]) => read(url as Url))

class NamedFormat extends Opaque {
  readonly typeName = 'kubernetes.NamedFormat'
  readonly name: string
  readonly problems: (text: string) => readonly string[]
  /** Pattern length that the cost calculation assumes. */
  readonly patternSize: number

  constructor(name: string, patternSize: number, problems: (text: string) => readonly string[]) {
    super()
    this.name = name
    this.patternSize = patternSize
    this.problems = problems
  }

  equals(other: Opaque): boolean {
    return (other as NamedFormat).name === this.name
  }
}

/** The pattern length of a named format; undefined for other values. */
export function patternSizeOf(value: CelValue): number | undefined {
  return value instanceof NamedFormat ? value.patternSize : undefined
}

const known = (name: string, size: number, problem: string): NamedFormat =>
  new NamedFormat(name, size, (text) => (findFormat(name)!(text) ? [] : [problem]))

function uriProblems(text: string): readonly string[] {
  const parsed = parseGoUrl(text, { forRequest: true })
  return 'problem' in parsed ? [parsed.problem] : []
}

const formats: ReadonlyMap<string, NamedFormat> = new Map([
  ['dns1123Label', new NamedFormat('DNS1123Label', 30, (text) => labelNameProblems(text, false))],
  ['dns1123Subdomain', new NamedFormat('DNS1123Subdomain', 60, (text) => subdomainNameProblems(text, false))],
  ['dns1035Label', new NamedFormat('DNS1035Label', 30, (text) => label1035NameProblems(text, false))],
  ['qualifiedName', new NamedFormat('QualifiedName', 60, qualifiedNameProblems)],
  ['dns1123LabelPrefix', new NamedFormat('DNS1123LabelPrefix', 30, (text) => labelNameProblems(text, true))],
  [
    'dns1123SubdomainPrefix',
    new NamedFormat('DNS1123SubdomainPrefix', 60, (text) => subdomainNameProblems(text, true)),
  ],
  ['dns1035LabelPrefix', new NamedFormat('DNS1035LabelPrefix', 30, (text) => label1035NameProblems(text, true))],
  ['labelValue', new NamedFormat('LabelValue', 40, labelValueProblems)],
  ['uri', new NamedFormat('URI', 1103, uriProblems)],
  ['uuid', known('uuid', 70, 'does not match the UUID format')],
  ['byte', known('byte', 84, 'invalid base64')],
  ['date', known('date', 71, 'invalid date')],
  ['datetime', known('datetime', 71, 'invalid datetime')],
])

const named: Library = Object.fromEntries(
  [...formats].map(([name, format]) => [`format.${name}`, [global(`format.${name}`, [], formatType, () => format)]]),
)

export const urls: Library = {
  ...named,
  url: [global('string_to_url', [stringType], urlType, ([text]) => toUrl(text as string))],
  isURL: [
    global(
      'is_url_string',
      [stringType],
      boolType,
      ([text]) => 'url' in parseGoUrl(text as string, { forRequest: true }),
    ),
  ],
  getScheme: [ofUrl('url_get_scheme', ({ url }) => url.scheme)],
  getHost: [ofUrl('url_get_host', ({ url }) => url.host)],
  getHostname: [ofUrl('url_get_hostname', ({ hostname }) => hostname)],
  getPort: [ofUrl('url_get_port', ({ port }) => port)],
  getEscapedPath: [ofUrl('url_get_escaped_path', ({ escapedPath }) => escapedPath)],
  getQuery: [member('url_get_query', [urlType], mapOf(stringType, listOf(stringType)), ([url]) => (url as Url).query)],
  'format.named': [
    global('format-named', [stringType], optionalOf(formatType), ([name]) => new Optional(formats.get(name as string))),
  ],
  validate: [
    member('format-validate', [formatType, stringType], optionalOf(listOf(stringType)), ([format, text], meter) => {
      meter.work((text as string).length)
      const problems = (format as NamedFormat).problems(text as string)
      return problems.length === 0 ? Optional.none : new Optional(new ArrayList([...problems]))
    }),
  ],
}
