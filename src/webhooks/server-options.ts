/** The options of `WebhookServer` and their checks. The checks run in the constructor, so that errors show the line of the user's code. */
import type { SecureContextOptions } from 'node:tls'
import { checkOptions, createCheck, flag, type OptionCheck, oneOf, text } from '../util/option-checks.ts'
import type { Duration } from '../util/text/duration.ts'
import type { VerifyMode } from './http/listener.ts'
import { port, positiveDuration, throwOptionsError, urlPath } from './option-checks.ts'

/** The options of a `WebhookServer`, in Kopf's spelling. */
export interface CheckedServerOptions {
  /** The IP address or host name to listen on, such as `0.0.0.0`. Default: all interfaces. */
  readonly addr?: string
  /** The port to listen on. Default: any free port. */
  readonly port?: number
  /** The common prefix of all webhook paths, such as `/hooks`. Default: none. */
  readonly path?: string
  /** The host name or IP address by which the API server reaches this server. Default: `addr`, or `localhost` if it listens on all interfaces. */
  readonly host?: string
  /** The CA certificates that the API server uses to verify this server, in PEM. Default: the content of `cafile`, or else the server certificate. */
  readonly cadata?: string | Uint8Array
  /** A file with these CA certificates, in PEM. The server rereads it every `fileCheckInterval`. Ignored if `cadata` is given. */
  readonly cafile?: string
  /** A file to which the server writes the CA certificates, for example for `curl --cacert`. Default: they are not written. */
  readonly cadump?: string
  /** Whether to serve plain HTTP. API servers require HTTPS, so this is only for use behind a tunnel or proxy. Default: false. */
  readonly insecure?: boolean
  /** A file with the server certificate, in PEM. Requires `pkeyfile`. Default: the server generates a certificate and a CA. */
  readonly certfile?: string
  /** A file with the private key of the server certificate, in PEM. Requires `certfile`. */
  readonly pkeyfile?: string
  /** The passphrase of the private key in `pkeyfile`. Default: the key is not encrypted. */
  readonly password?: string
  /** Additional host names and IP addresses (SANs) for the generated certificate. Default: `host` and `addr` only. */
  readonly extraSans?: readonly string[]
  /** Whether clients must present a certificate. Default: `optional` if client CAs are given with a `verifyCa…` option, otherwise `none`. */
  readonly verifyMode?: VerifyMode
  /** A file with the CA certificates that verify client certificates, in PEM. Can be combined with the other `verifyCa…` options. */
  readonly verifyCafile?: string
  /** A folder of files with CA certificates that verify client certificates, in PEM. Hidden files are ignored. */
  readonly verifyCapath?: string
  /** The CA certificates that verify client certificates, in PEM. */
  readonly verifyCadata?: string | Uint8Array
  /** How often the server rereads the certificate files. New certificates are used without a restart. Default: one minute. */
  readonly fileCheckInterval?: Duration
  /** Other options of Node's `tls.createSecureContext`, such as `ciphers`. The minimum TLS version is 1.2. */
  readonly context?: SecureContextOptions
}

/**
 * The options of `WebhookServer`, and of the servers for local clusters: where to listen, the address for the API server, and the certificates.
 *
 * @example
 * ```ts
 * new WebhookServer({ port: 9443, host: 'operator.example.com', certfile: 'tls.crt', pkeyfile: 'tls.key', cafile: 'ca.crt' })
 * ```
 */
export interface WebhookServerOptions extends CheckedServerOptions {
  /** The option `cadata` in camelCase. */
  readonly caData?: string | Uint8Array
  /** The option `cafile` in camelCase. */
  readonly caFile?: string
  /** The option `cadump` in camelCase. */
  readonly caDump?: string
  /** The option `certfile` in camelCase. */
  readonly certFile?: string
  /** The option `pkeyfile` in camelCase. */
  readonly pkeyFile?: string
  /** The option `verifyCafile` in camelCase. */
  readonly verifyCaFile?: string
  /** The option `verifyCapath` in camelCase. */
  readonly verifyCaPath?: string
  /** The option `verifyCadata` in camelCase. */
  readonly verifyCaData?: string | Uint8Array
}

const pem: OptionCheck<string | Uint8Array> = createCheck(
  'certificates in PEM: a string or bytes',
  (value): value is string | Uint8Array =>
    (typeof value === 'string' || value instanceof Uint8Array) && value.length > 0,
)

const checks: Readonly<Record<keyof CheckedServerOptions, OptionCheck>> = {
  addr: text,
  port,
  path: urlPath,
  host: createCheck(
    'a host name or an address, without a scheme or a port',
    (value): value is string => typeof value === 'string' && /^([\w.-]+|[\da-fA-F:.]+)$/.test(value),
  ),
  cadata: pem,
  cafile: text,
  cadump: text,
  insecure: flag,
  certfile: text,
  pkeyfile: text,
  password: createCheck('a string', (value): value is string => typeof value === 'string'),
  extraSans: createCheck(
    'a list of host names and addresses',
    (value): value is string[] => Array.isArray(value) && value.every((one) => text.accept(one) !== undefined),
  ),
  verifyMode: oneOf('none', 'optional', 'required'),
  verifyCafile: text,
  verifyCapath: text,
  verifyCadata: pem,
  fileCheckInterval: positiveDuration,
  context: createCheck(
    "an object with options of Node's tls.createSecureContext",
    (value): value is object => typeof value === 'object' && value !== null,
  ),
}

/** Options in camelCase, with Kopf's spelling of each. */
const spellings = {
  caData: 'cadata',
  caFile: 'cafile',
  caDump: 'cadump',
  certFile: 'certfile',
  pkeyFile: 'pkeyfile',
  verifyCaFile: 'verifyCafile',
  verifyCaPath: 'verifyCapath',
  verifyCaData: 'verifyCadata',
} as const

/** Returns the options in Kopf's spelling, without undefined values. Throws if an option is invalid. */
export function checkServerOptions(options: WebhookServerOptions): CheckedServerOptions {
  const known = checkOptions<CheckedServerOptions>(toKopfSpelling(options), checks, throwOptionsError)
  checkCombinations(known)
  return known
}

function toKopfSpelling(options: WebhookServerOptions): CheckedServerOptions {
  const result: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue
    const spelling = Object.hasOwn(spellings, name) ? spellings[name as keyof typeof spellings] : name
    if (Object.hasOwn(result, spelling))
      throwOptionsError(`"${spelling}" is given in two spellings; remove one of them`)
    result[spelling] = value
  }
  return result
}

/** Throws if options contradict each other, or if one needs another. */
function checkCombinations(options: CheckedServerOptions): void {
  const { insecure, certfile, pkeyfile, verifyMode, context } = options
  if (insecure === true) {
    const useless = tlsOptions.find((name) => options[name] !== undefined)
    if (useless !== undefined)
      throwOptionsError(`"insecure" means plain HTTP, which has no use for "${useless}"; remove one of them`)
    return
  }
  if ((certfile === undefined) !== (pkeyfile === undefined)) {
    const missing = certfile === undefined ? 'certfile' : 'pkeyfile'
    throwOptionsError(
      `"certfile" and "pkeyfile" belong together; give "${missing}" too, or neither for a generated certificate`,
    )
  }
  const hasClientCas = verifyOptions.some((name) => options[name] !== undefined)
  if (verifyMode === 'none' && hasClientCas) {
    throwOptionsError(
      '"verifyMode" is "none", so client certificates are not requested; remove it, or remove the client CAs',
    )
  }
  if (verifyMode !== undefined && verifyMode !== 'none' && !hasClientCas && context?.ca === undefined) {
    throwOptionsError(
      'client certificates need CAs to verify them; give "verifyCafile", "verifyCapath" or "verifyCadata"',
    )
  }
  if (context?.minVersion === 'TLSv1' || context?.minVersion === 'TLSv1.1') {
    throwOptionsError('versions of TLS before 1.2 are insecure; remove "minVersion" from "context"')
  }
}

const verifyOptions = ['verifyCafile', 'verifyCapath', 'verifyCadata'] as const
const tlsOptions = ['context', 'certfile', 'pkeyfile', 'verifyMode', ...verifyOptions] as const

export function verifyModeOf(options: CheckedServerOptions): VerifyMode {
  return options.verifyMode ?? (verifyOptions.some((name) => options[name] !== undefined) ? 'optional' : 'none')
}
