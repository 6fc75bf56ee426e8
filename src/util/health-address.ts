/** Where to tell of one's health, from what people write: `http://0.0.0.0:8080/healthz`. For the command and for running/. */

export interface HealthAddress {
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  readonly path: string
}

/** Beside the path of the liveness. */
export const readinessPath = '/readyz'

const example = 'such as http://0.0.0.0:8080/healthz'

/** Not by `URL`: that takes a missing host for a mistake, or the path for the host. */
const pattern =
  /^(?<scheme>[a-z][a-z\d+.-]*):\/\/(?<host>\[[^\]]*\]|[^:/?#@[\]]*)(?::(?<port>\d*))?(?<path>\/[^?#]*)?$/i

/** `refuse` is told why, to follow a colon. */
export function parseHealthAddress(text: string, refuse: (why: string) => never): HealthAddress {
  const { scheme, host, port, path = '/' } = pattern.exec(text)?.groups ?? refuse(`expected an address ${example}`)
  if (scheme!.toLowerCase() !== 'http') refuse(`only http is served; expected an address ${example}`)
  const number = port ? Number(port) : 80
  if (number > 65_535) refuse('a port is a number up to 65535')
  const address = { host: host!.replace(/^\[|\]$/g, '') || 'localhost', port: number, path: toSent(path) }
  if (address.path === readinessPath)
    refuse(`${readinessPath} tells whether the operator is ready; choose another path`)
  return address
}

/** As it comes in requests: encoded. */
function toSent(path: string): string {
  return new URL(`http://localhost${path}`).pathname
}

export function formatHealthAddress({ host, port, path }: HealthAddress): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}${path}`
}
