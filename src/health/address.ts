/** Parses the address of the health endpoint, such as `http://0.0.0.0:8080/healthz`. Called by `kopf run` and by serve-health.ts. */

export interface HealthAddress {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly path: string
}

/** The path of the readiness page; the path of the liveness page is in the address. */
export const readinessPath = '/readyz'

const example = 'such as http://0.0.0.0:8080/healthz'

/** `URL` cannot parse these addresses: without a host, it throws or takes the path for the host. */
const pattern =
  /^(?<scheme>[a-z][a-z\d+.-]*):\/\/(?<host>\[[^\]]*\]|[^:/?#@[\]]*)(?::(?<port>\d*))?(?<path>\/[^?#]*)?$/i

/** Calls `fail` with the reason if the address is invalid. */
export function parseHealthAddress(text: string, fail: (why: string) => never): HealthAddress {
  const { scheme, host, port, path = '/' } = pattern.exec(text)?.groups ?? fail(`expected an address ${example}`)
  if (scheme!.toLowerCase() !== 'http') fail(`only http is served; expected an address ${example}`)
  const number = port ? Number(port) : 80
  if (number > 65_535) fail('a port is a number up to 65535')
  const address = { host: host!.replace(/^\[|\]$/g, '') || 'localhost', port: number, path: toRequestPath(path) }
  if (address.path === readinessPath) fail(`${readinessPath} tells whether the operator is ready; choose another path`)
  return address
}

/** The percent-encoded path, as it is in requests. */
function toRequestPath(path: string): string {
  return new URL(`http://localhost${path}`).pathname
}

export function formatHealthAddress({ host, port, path }: HealthAddress): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}${path}`
}
