/** Explains failed requests in the words of Go's client, which users of kube-apiserver know. Pure. */
import { quote } from '../field-errors.ts'

/** The address of a connection. */
export interface NetworkAddress {
  readonly host: string
  readonly port: number
}

/** Explains a request without a response. `name` is the name that the certificate must be valid for. */
export function explainFailure(error: NodeJS.ErrnoException, place: NetworkAddress, name: string): string {
  const { code = '', message } = error
  const address = place.host.includes(':') ? `[${place.host}]:${place.port}` : `${place.host}:${place.port}`
  switch (code) {
    case 'ECONNREFUSED':
      return `dial tcp ${dialled(error) ?? address}: connect: connection refused`
    case 'EHOSTUNREACH':
      return `dial tcp ${address}: connect: no route to host`
    case 'ENETUNREACH':
      return `dial tcp ${address}: connect: network is unreachable`
    case 'ETIMEDOUT':
      return `dial tcp ${address}: connect: connection timed out`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `dial tcp: lookup ${place.host}: no such host`
    case 'ECONNRESET':
      return message === 'socket hang up' ? 'EOF' : 'read: connection reset by peer'
    case 'EPROTO':
      return message.includes('wrong version number') ? 'http: server gave HTTP response to HTTPS client' : message
    default:
      return explainCertificate(error as CertificateError, name) ?? message
  }
}

/** The address that was actually dialled, since a name may resolve to several. */
function dialled(error: NodeJS.ErrnoException): string | undefined {
  const { address, port } = error as { address?: string; port?: number }
  if (address === undefined) return undefined
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}

type CertificateError = NodeJS.ErrnoException & { readonly cert?: { readonly subjectaltname?: string } }

const unknownAuthority = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
])

function explainCertificate(error: CertificateError, name: string): string | undefined {
  const { code = '' } = error
  if (unknownAuthority.has(code)) return unverified('certificate signed by unknown authority')
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return unverified('certificate has expired or is not yet valid')
  }
  if (code !== 'ERR_TLS_CERT_ALTNAME_INVALID') return undefined
  return unverified(explainNames(error.cert?.subjectaltname ?? '', name))
}

function unverified(why: string): string {
  return `tls: failed to verify certificate: x509: ${why}`
}

/** The names of a certificate have the form `DNS:a.example.com, IP Address:10.0.0.1`. */
function explainNames(names: string, wanted: string): string {
  const isAddress = /^[\d.]+$|:/.test(wanted)
  const prefix = isAddress ? 'IP Address:' : 'DNS:'
  const own = names.split(', ').filter((one) => one.startsWith(prefix))
  if (own.length > 0) {
    return `certificate is valid for ${own.map((one) => one.slice(prefix.length)).join(', ')}, not ${wanted}`
  }
  if (isAddress) return `cannot validate certificate for ${wanted} because it doesn't contain any IP SANs`
  return `certificate is not valid for any names, but wanted to match ${wanted}`
}

const answers: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  406: 'the server was unable to respond with a content type that the client supports',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
}

/** Maximum length of a quoted response. */
const maxQuotedBytes = 2048

/** Explains a response with an error status. A Status in the body is preferred to its code; text is quoted if nothing else is known. */
export function explainAnswer(code: number, contentType: string, text: string): string {
  const status = readStatus(text)
  if (status !== undefined) return status
  const isText = contentType === '' || contentType.startsWith('text/')
  const said = isText ? Buffer.from(text).subarray(0, maxQuotedBytes).toString('utf8').trim() : 'unknown'
  if (code === 403 || code === 415) return said
  if (code === 406 && said !== '' && said !== 'unknown') return said
  const known = answers[code]
  if (known !== undefined) return known
  if (code >= 500) return `an error on the server (${quote(said)}) has prevented the request from succeeding`
  return `the server responded with the status code ${code} but did not return more information`
}

function readStatus(text: string): string | undefined {
  try {
    const { kind, apiVersion, status, message } = JSON.parse(text) as Record<string, unknown>
    if (kind !== 'Status' || apiVersion !== 'v1' || status === 'Success') return undefined
    return typeof message === 'string' ? message : undefined
  } catch {
    return undefined
  }
}
