/** `ip()` and `cidr()`: addresses parsed and formatted like Go's `net/netip`. */
import { fail } from '../failures.ts'
import { global, type Library, member } from '../functions.ts'
import { boolType, intType, opaque, stringType } from '../types.ts'
import { type CelValue, Opaque } from '../values.ts'
import { goQuote } from './go-quote.ts'

const ipType = opaque('net.IP')
const cidrType = opaque('net.CIDR')

interface IpAddress {
  readonly bits: 32 | 128
  readonly value: bigint
}

class Ip extends Opaque {
  readonly typeName = 'net.IP'
  readonly address: IpAddress

  constructor(address: IpAddress) {
    super()
    this.address = address
  }

  equals(other: Opaque): boolean {
    const { bits, value } = (other as Ip).address
    return bits === this.address.bits && value === this.address.value
  }

  override get size(): number {
    return this.address.bits / 8
  }
}

class Cidr extends Opaque {
  readonly typeName = 'net.CIDR'
  readonly address: IpAddress
  readonly length: number

  constructor(address: IpAddress, length: number) {
    super()
    this.address = address
    this.length = length
  }

  equals(other: Opaque): boolean {
    const { address, length } = other as Cidr
    return length === this.length && new Ip(address).equals(new Ip(this.address))
  }

  override get size(): number {
    return Math.ceil(this.length / 8)
  }

  masked(): Cidr {
    return new Cidr({ ...this.address, value: maskTo(this.address, this.length) }, this.length)
  }

  contains({ bits, value }: IpAddress): boolean {
    return bits === this.address.bits && maskTo({ bits, value }, this.length) === maskTo(this.address, this.length)
  }
}

function maskTo({ bits, value }: IpAddress, length: number): bigint {
  const shift = BigInt(bits - length)
  return (value >> shift) << shift
}

function parseIpv4(text: string): bigint | string {
  const fields = text.split('.')
  let value = 0n
  for (const [index, field] of fields.entries()) {
    if (field === '') return 'IPv4 field must have at least one digit'
    const bad = /[^0-9]/.exec(field)
    if (bad)
      return `unexpected character (at ${goQuote([field.slice(bad.index), ...fields.slice(index + 1)].join('.'))})`
    if (field.length > 1 && field.startsWith('0')) return 'IPv4 field has octet with leading zero'
    if (Number(field) > 255) return 'IPv4 field has value >255'
    if (index > 3) return 'IPv4 address too long'
    value = value * 256n + BigInt(field)
  }
  return fields.length < 4 ? 'IPv4 address too short' : value
}

function parseIpv6(text: string): bigint | string {
  const halves = text.split('::')
  if (halves.length > 2) return 'multiple :: in address'
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')))
  const words: bigint[][] = []
  for (const [half, parts] of groups.entries()) {
    const parsed: bigint[] = []
    for (const [index, part] of parts.entries()) {
      const isLast = half === groups.length - 1 && index === parts.length - 1
      if (part.includes('.') && isLast) {
        const tail = parseIpv4(part)
        if (typeof tail === 'string') return tail
        parsed.push(tail >> 16n, tail & 0xffffn)
      } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) parsed.push(BigInt(`0x${part}`))
      else return part === '' ? 'each colon-separated field must have at least one digit' : 'unexpected character'
    }
    words.push(parsed)
  }
  const count = words.flat().length
  if (halves.length === 1) {
    if (count !== 8) return count < 8 ? 'address string too short' : 'trailing garbage after address'
  } else if (count > 7) return 'the :: must expand to at least one field of zeros'
  const zeros = halves.length === 1 ? [] : Array<bigint>(8 - count).fill(0n)
  return [...words[0]!, ...zeros, ...(words[1] ?? [])].reduce((value, word) => (value << 16n) | word, 0n)
}

function parseAddress(text: string): IpAddress | string {
  const problem = (why: string): string => `ParseAddr(${goQuote(text)}): ${why}`
  const mark = /[.:%]/.exec(text)?.[0]
  if (mark === undefined) return problem('unable to parse IP')
  if (mark === '%') return problem('missing IPv6 address')
  const value = mark === '.' ? parseIpv4(text) : parseIpv6(text)
  return typeof value === 'string' ? problem(value) : { bits: mark === '.' ? 32 : 128, value }
}

const isMapped = ({ bits, value }: IpAddress): boolean => bits === 128 && value >> 32n === 0xffffn

function parseIp(text: string): Ip | string {
  const quoted = goQuote(text)
  const percent = text.indexOf('%')
  const parsed = parseAddress(percent > 0 && text.includes(':') ? text.slice(0, percent) : text)
  if (typeof parsed === 'string') return `IP Address ${quoted} parse error during conversion from string: ${parsed}`
  if (percent > 0) return `IP address ${quoted} with zone value is not allowed`
  return isMapped(parsed) ? `IPv4-mapped IPv6 address ${quoted} is not allowed` : new Ip(parsed)
}

function parseCidr(text: string): Cidr | string {
  const wrong = 'network address parse error during conversion from string'
  const problem = (why: string): string => `${wrong}: netip.ParsePrefix(${goQuote(text)}): ${why}`
  const slash = text.lastIndexOf('/')
  if (slash < 0) return problem("no '/'")
  const address = parseAddress(text.slice(0, slash))
  if (typeof address === 'string') return problem(address)
  const length = text.slice(slash + 1)
  if (!/^(?:0|[1-9][0-9]*)$/.test(length)) return problem(`bad bits after slash: ${goQuote(length)}`)
  if (Number(length) > address.bits) return problem('prefix length out of range')
  return isMapped(address)
    ? `IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`
    : new Cidr(address, Number(length))
}

/** The longest run of two or more zero words is abbreviated to `::`. */
function formatAddress({ bits, value }: IpAddress): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.')
  const words = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16))
  const runs = [
    ...words
      .map((word) => (word === '0' ? '0' : '1'))
      .join('')
      .matchAll(/0{2,}/g),
  ]
  const longest = runs.reduce<RegExpMatchArray | undefined>(
    (best, one) => (one[0].length > (best?.[0].length ?? 0) ? one : best),
    undefined,
  )
  if (!longest) return words.join(':')
  return `${words.slice(0, longest.index!).join(':')}::${words.slice(longest.index! + longest[0].length).join(':')}`
}

const orFail = <T extends Opaque>(parsed: T | string): T => (typeof parsed === 'string' ? fail(parsed) : parsed)
const ipOf = (value: CelValue | undefined): Ip => (value instanceof Ip ? value : orFail(parseIp(value as string)))
const cidrOf = (value: CelValue | undefined): Cidr => {
  if (value instanceof Cidr) return value
  const parsed = parseCidr(value as string)
  return typeof parsed === 'string'
    ? fail(`network address parse error during conversion from string: ${parsed}`)
    : parsed
}
const isInCidr = (address: IpAddress, network: string): boolean => (parseCidr(network) as Cidr).contains(address)

function isGlobalUnicast(address: IpAddress): boolean {
  const { bits, value } = address
  const isBroadcast = bits === 32 && value === 0xffffffffn
  const isMulticast = isInCidr(address, '224.0.0.0/4') || isInCidr(address, 'ff00::/8')
  return !(isBroadcast || isMulticast || value === 0n || isLoopback(address) || isLinkLocal(address))
}

const isLoopback = (address: IpAddress): boolean => isInCidr(address, '127.0.0.0/8') || isInCidr(address, '::1/128')
const isLinkLocal = (address: IpAddress): boolean =>
  isInCidr(address, '169.254.0.0/16') || isInCidr(address, 'fe80::/10')

/** `ff02::/16` with any flags in the second byte. */
const isLinkLocalMulticast = ({ bits, value }: IpAddress): boolean =>
  isInCidr({ bits, value }, '224.0.0.0/24') ||
  (bits === 128 && value >> 120n === 0xffn && ((value >> 112n) & 0xfn) === 2n)

const about = (id: string, test: (address: IpAddress) => boolean) =>
  member(id, [ipType], boolType, ([ip]) => test((ip as Ip).address))

const isOverlapping = (left: Cidr, right: Cidr): boolean =>
  left.length <= right.length ? left.contains(right.address) : right.contains(left.address)

export const addresses: Library = {
  ip: [
    global('string_to_ip', [stringType], ipType, ([text]) => ipOf(text)),
    member('cidr_ip', [cidrType], ipType, ([cidr]) => new Ip((cidr as Cidr).address)),
  ],
  isIP: [global('is_ip', [stringType], boolType, ([text]) => typeof parseIp(text as string) !== 'string')],
  'ip.isCanonical': [
    global('ip_is_canonical', [stringType], boolType, ([text]) => formatAddress(ipOf(text).address) === text),
  ],
  family: [member('ip_family', [ipType], intType, ([ip]) => ((ip as Ip).address.bits === 32 ? 4n : 6n))],
  isUnspecified: [about('ip_is_unspecified', ({ value }) => value === 0n)],
  isLoopback: [about('ip_is_loopback', isLoopback)],
  isLinkLocalMulticast: [about('ip_is_link_local_multicast', isLinkLocalMulticast)],
  isLinkLocalUnicast: [about('ip_is_link_local_unicast', isLinkLocal)],
  isGlobalUnicast: [about('ip_is_global_unicast', isGlobalUnicast)],
  cidr: [global('string_to_cidr', [stringType], cidrType, ([text]) => cidrOf(text))],
  isCIDR: [global('is_cidr', [stringType], boolType, ([text]) => typeof parseCidr(text as string) !== 'string')],
  containsIP: [
    member('cidr_contains_ip_string', [cidrType, stringType], boolType, ([cidr, ip]) =>
      (cidr as Cidr).contains(ipOf(ip).address),
    ),
    member('cidr_contains_ip_ip', [cidrType, ipType], boolType, ([cidr, ip]) =>
      (cidr as Cidr).contains((ip as Ip).address),
    ),
  ],
  containsCIDR: ['cidr_contains_cidr_string', 'cidr_contains_cidr'].map((id) =>
    member(id, [cidrType, id.endsWith('string') ? stringType : cidrType], boolType, ([cidr, other]) => {
      const [own, part] = [cidr as Cidr, cidrOf(other)]
      return isOverlapping(own, part) && own.length <= part.length
    }),
  ),
  prefixLength: [member('cidr_prefix_length', [cidrType], intType, ([cidr]) => BigInt((cidr as Cidr).length))],
  masked: [member('cidr_masked', [cidrType], cidrType, ([cidr]) => (cidr as Cidr).masked())],
  string: [
    global('ip_to_string', [ipType], stringType, ([ip]) => formatAddress((ip as Ip).address)),
    global(
      'cidr_to_string',
      [cidrType],
      stringType,
      ([cidr]) => `${formatAddress((cidr as Cidr).address)}/${(cidr as Cidr).length}`,
    ),
  ],
}
