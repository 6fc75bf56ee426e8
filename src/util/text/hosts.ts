/** Hosts in URLs, where an IPv6 address is in brackets. Used for connections to the API server and for webhook URLs. */

/** The host without brackets, as sockets and certificates take it. */
export function toHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/** The host with brackets around an IPv6 address, as it is written in a URL. */
export function toUrlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
