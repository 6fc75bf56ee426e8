/** Parses the address of the health endpoint, such as `http://0.0.0.0:8080/healthz`. Called by `kopf run` and by serve-health.ts. */
import { parseEndpointAddress, type ServingAddress } from '../serving/address.ts'

/** The path of the readiness page; the path of the liveness page is in the address. */
export const readinessPath = '/readyz'

const example = 'such as http://0.0.0.0:8080/healthz'

/** Calls `fail` with the reason if the address is invalid. As in Kopf, the address is a URL, and its host is optional. */
export function parseHealthAddress(text: string, fail: (why: string) => never): ServingAddress {
  const scheme = /^([a-z][a-z\d+.-]*):\/\//i.exec(text)?.[1]
  if (scheme === undefined) fail(`expected an address ${example}`)
  if (scheme.toLowerCase() !== 'http') fail(`only http is served; expected an address ${example}`)
  const address = parseEndpointAddress(text, {
    defaultPort: 80,
    defaultHost: 'localhost',
    fail: (why) => fail(why.replace(/^expected an address .*/s, `expected an address ${example}`)),
  })
  if (address.path === readinessPath) fail(`${readinessPath} tells whether the operator is ready; choose another path`)
  return address
}
