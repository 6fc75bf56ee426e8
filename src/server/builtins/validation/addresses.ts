/** Validation of IP addresses, with the leniency that the API keeps for its older fields. */
import { isIP } from 'node:net'
import { type FieldError, invalid } from '../../field-errors.ts'

export function checkIp(path: string, address: string): FieldError[] {
  return isIP(address) === 0
    ? [invalid(path, address, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
    : []
}

/** Checks that the address can be the destination of a packet. */
export function checkEndpointIp(path: string, address: string): FieldError[] {
  const family = isIP(address)
  if (family === 0) return [invalid(path, address, 'must be a valid IP address')]
  const lower = address.toLowerCase()
  if (address === '0.0.0.0' || lower === '::') return [invalid(path, address, `may not be unspecified (${address})`)]
  if (/^127\./.test(address) || lower === '::1') {
    return [invalid(path, address, 'may not be in the loopback range (127.0.0.0/8, ::1/128)')]
  }
  if (/^169\.254\./.test(address) || /^fe[89ab]/.test(lower)) {
    return [invalid(path, address, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)')]
  }
  if (/^224\.0\.0\./.test(address) || /^ff02:/.test(lower)) {
    return [invalid(path, address, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)')]
  }
  return []
}
