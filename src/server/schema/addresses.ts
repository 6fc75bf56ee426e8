/** IP addresses, networks and MAC addresses as Go's `net` package parses them. */

export interface IpOptions {
  /** Accepts `010.0.0.1`: Go rejects it since 1.17, kube-apiserver still accepts it in existing fields. */
  readonly leadingZeros?: boolean
}

function isIpv4(text: string, { leadingZeros = false }: IpOptions): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => isByte(part, leadingZeros))
}

function isByte(text: string, leadingZeros: boolean): boolean {
  if (!/^[0-9]+$/.test(text)) return false
  return Number(text) <= 255 && (leadingZeros || text.length === 1 || text[0] !== '0')
}

function isIpv6(text: string, options: IpOptions): boolean {
  const halves = text.split('::')
  if (halves.length > 2) return false
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')))
  const all = groups.flat()
  const last = all.at(-1)
  const hasIpv4 = last?.includes('.') ?? false
  if (hasIpv4 && (!isIpv4(last!, options) || groups.at(-1)!.length === 0)) return false
  const words = hasIpv4 ? all.slice(0, -1) : all
  if (!words.every((word) => /^[0-9a-fA-F]{1,4}$/.test(word))) return false
  const length = words.length + (hasIpv4 ? 2 : 0)
  return halves.length === 2 ? length < 8 : length === 8
}

export function isIp(text: string, options: IpOptions = {}): boolean {
  return text.includes(':') ? isIpv6(text, options) : isIpv4(text, options)
}

export function isCidr(text: string): boolean {
  const slash = text.indexOf('/')
  if (slash < 0) return false
  const address = text.slice(0, slash)
  const length = text.slice(slash + 1)
  if (!isIp(address, { leadingZeros: true }) || !/^[0-9]+$/.test(length)) return false
  return Number(length) <= (address.includes(':') ? 128 : 32)
}

/** Six, eight or twenty bytes: in pairs with colons or dashes, in groups of four digits with dots, or without separators. */
export function isMac(text: string): boolean {
  const pairs = /^[0-9a-fA-F]{2}(?:([:-])[0-9a-fA-F]{2})(?:\1[0-9a-fA-F]{2})*$/
  const fours = /^[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+$/
  if (!pairs.test(text) && !fours.test(text) && !/^[0-9a-fA-F]+$/.test(text)) return false
  const bytes = text.replace(/[:.-]/g, '').length / 2
  return bytes === 6 || bytes === 8 || bytes === 20
}
