/**
 * Requests without a response: errors of sockets, DNS, certificates and timeouts, with advice in the message.
 * session.ts creates a `ConnectionError` from the error of a transport.
 */
import { brand, KopfError } from '../errors.ts'
import { toUrlHost } from '../util/text/hosts.ts'
import type { ErrorSubject } from './api-error.ts'

/** The type of a connection failure: see `ConnectionError.problem`. */
export type ConnectionProblem =
  | 'refused'
  | 'unknown-host'
  | 'unreachable'
  | 'certificate'
  | 'protocol'
  | 'timeout'
  | 'broken'
  | 'too-large'

/**
 * The API server could not be reached, or the connection broke before the response was complete. Thrown by `client` after its retries. Its
 * code is `KOPF_CONNECTION`; the original error is its `cause`.
 */
export class ConnectionError extends KopfError {
  /** The type of the failure, for example `refused`, `timeout` or `certificate`. */
  readonly problem: ConnectionProblem
  /** Whether the server may have received and executed the request: if so, a create may have succeeded. */
  readonly mayHaveArrived: boolean

  constructor(message: string, problem: ConnectionProblem, options?: ErrorOptions) {
    super('KOPF_CONNECTION', message, options)
    this.problem = problem
    this.mayHaveArrived = problem === 'timeout' || problem === 'broken' || problem === 'too-large'
  }
}
brand('ConnectionError')(ConnectionError)

const mebibyte = 1024 * 1024

interface SystemError {
  readonly code?: unknown
  readonly message?: unknown
  readonly address?: unknown
  readonly port?: unknown
  readonly hostname?: unknown
  readonly host?: unknown
}

type Explain = (error: SystemError) => string

const untrusted: Explain = () =>
  "the server's certificate is not signed by an authority that is trusted; give the cluster's own in certificate-authority-data of the kubeconfig (`caData`)"
const unknownHost: Explain = ({ hostname }) =>
  `the host ${JSON.stringify(hostname ?? '')} is not known; check the server's address in the kubeconfig, and DNS`
const unreachable: Explain = (error) => `there is no route to ${formatAddress(error)}; check the network and the VPN`
const broken: Explain = () => 'the connection broke before the answer was complete'

const problems: ReadonlyMap<string, readonly [ConnectionProblem, Explain]> = new Map([
  [
    'ECONNREFUSED',
    [
      'refused',
      (error) =>
        `nothing listens at ${formatAddress(error)}; check that the cluster is running and that the server's address in the kubeconfig is right`,
    ],
  ],
  ['ENOTFOUND', ['unknown-host', unknownHost]],
  ['EAI_AGAIN', ['unknown-host', unknownHost]],
  ['EHOSTUNREACH', ['unreachable', unreachable]],
  ['ENETUNREACH', ['unreachable', unreachable]],
  ['EADDRNOTAVAIL', ['unreachable', unreachable]],
  ['ECONNRESET', ['broken', broken]],
  ['EPIPE', ['broken', broken]],
  ['ETIMEDOUT', ['timeout', () => 'the server did not answer in time; check the network, the VPN and firewalls']],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', ['certificate', untrusted]],
  ['SELF_SIGNED_CERT_IN_CHAIN', ['certificate', untrusted]],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', ['certificate', untrusted]],
  ['UNABLE_TO_GET_ISSUER_CERT', ['certificate', untrusted]],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', ['certificate', untrusted]],
  ['CERT_SIGNATURE_FAILURE', ['certificate', untrusted]],
  ['CERT_UNTRUSTED', ['certificate', untrusted]],
  [
    'CERT_HAS_EXPIRED',
    ['certificate', () => "the server's certificate has expired; renew it, or correct the clock of this machine"],
  ],
  [
    'CERT_NOT_YET_VALID',
    ['certificate', () => "the server's certificate is not valid yet; check the clocks of both machines"],
  ],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    [
      'certificate',
      ({ host }) =>
        `the server's certificate is not for ${JSON.stringify(host ?? 'this host')}; use a name it is for, or set tls-server-name in the kubeconfig`,
    ],
  ],
  [
    'EPROTO',
    [
      'protocol',
      () =>
        "the server does not speak TLS, or refuses ours; check that the server's address begins with the right one of http:// and https://",
    ],
  ],
] as const)

/** The `ConnectionError` for an error of any type that a transport rejected with. */
export function toConnectionError({ method, path }: ErrorSubject, error: unknown): ConnectionError {
  if (error instanceof ConnectionError) return error
  const { code, message } = (error ?? {}) as SystemError
  const [problem, explain] = problems.get(String(code)) ?? classifyUnknown(String(code))
  const why = explain?.(error as SystemError) ?? String(message ?? error)
  return new ConnectionError(`Cannot ${method} ${path}: ${why}`, problem, { cause: error })
}

export function toTimeout({ method, path }: ErrorSubject, what: string, limitMs: number): ConnectionError {
  const why = `${what} did not come within ${limitMs / 1000} s; check the network and the load of the server`
  return new ConnectionError(`Cannot ${method} ${path}: ${why}`, 'timeout')
}

export function toAnswerTooLarge({ method, path }: ErrorSubject, maxBytes: number): ConnectionError {
  const why = `the answer is larger than ${Math.floor(maxBytes / mebibyte)} MiB, and was not read any further`
  const advice =
    'for a list, lower settings.watching.chunkSize; check also that this is the address of a Kubernetes API server'
  return new ConnectionError(`Cannot ${method} ${path}: ${why}; ${advice}`, 'too-large')
}

/** A smaller page size to retry with after a response that was too large; undefined for other errors. */
export function toSmallerPage(error: unknown, size: number | null | undefined): number | undefined {
  const isTooLarge = error instanceof ConnectionError && error.problem === 'too-large'
  return isTooLarge && typeof size === 'number' && size > 1 ? Math.ceil(size / 5) : undefined
}

/** The error for a request after `close` of the transport. */
export function connectionClosedError(): KopfError {
  return new KopfError(
    'KOPF_CONNECTION_CLOSED',
    'Cannot send a request: the connection to the API server has been closed',
  )
}

function classifyUnknown(code: string): readonly [ConnectionProblem, Explain?] {
  if (/^(ERR_SSL|ERR_TLS)/.test(code)) return ['protocol']
  if (code.startsWith('HPE_'))
    return ['protocol', () => 'the answer is not HTTP; check the server’s address in the kubeconfig']
  // For unknown errors, assume that the server may have received the request.
  return ['broken']
}

function formatAddress({ address, port }: SystemError): string {
  return typeof address === 'string' ? `${toUrlHost(address)}:${port}` : "the server's address"
}
