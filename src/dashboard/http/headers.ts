/** The headers of all answers of the dashboard, and its session cookie. Pure. */

/** Nothing is loaded from elsewhere, nothing is inline, and no other page can embed or read the dashboard. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'permissions-policy':
    'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=(), clipboard-read=(), clipboard-write=(self)',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex',
}

/** Browsers accept a cookie with the prefix `__Host-` only from this host, over TLS, for all paths. */
export function cookieName(isSecure: boolean): string {
  return isSecure ? '__Host-kopf-dashboard' : 'kopf-dashboard'
}

export interface CookieOptions {
  readonly name: string
  readonly isSecure: boolean
  /** The browser forgets the cookie. */
  readonly isEnded?: boolean
}

export function toCookie(id: string, { name, isSecure, isEnded = false }: CookieOptions): string {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict']
  if (isSecure) attributes.push('Secure')
  if (isEnded) attributes.push('Max-Age=0')
  return [`${name}=${id}`, ...attributes].join('; ')
}
