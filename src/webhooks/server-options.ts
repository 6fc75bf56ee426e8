/** What a `WebhookServer` can be told, and what of it makes sense: checked when the server is made, not when it is started. */
import type { SecureContextOptions } from 'node:tls'
import type { Duration } from '../util/text/duration.ts'
import type { VerifyMode } from './http/listener.ts'
import {
  checkOptions,
  durationCheck,
  type OptionCheck,
  pathCheck,
  portCheck,
  textCheck,
  throwOptionsError,
} from './option-checks.ts'

/** Where a webhook server listens, where the API server finds it, and with which certificates. */
export interface WebhookServerOptions {
  /** The address or name to listen on, such as `0.0.0.0`. Default: all interfaces. */
  readonly addr?: string
  /** Default: any that is free. */
  readonly port?: number
  /** What the paths of all webhooks begin with, such as `/hooks`. Default: nothing. */
  readonly path?: string
  /** The name or address by which the API server reaches this server. Default: that of `addr`, or `localhost`. */
  readonly host?: string
  /** What API servers are to trust, in PEM. Default: what is in `cafile`, else the certificate itself. */
  readonly cadata?: string | Uint8Array
  /** The same in a file; it is looked at again and again. */
  readonly cafile?: string
  /** A file to write it to, such as for `curl --cacert`. */
  readonly cadump?: string
  /** Plain HTTP: no API server takes that, but a tunnel may. Default: false. */
  readonly insecure?: boolean
  /** The certificate of the server, in PEM. Default: one of an authority of its own is made. */
  readonly certfile?: string
  /** Its key, in PEM. */
  readonly pkeyfile?: string
  /** What the key in `pkeyfile` is encrypted with. */
  readonly password?: string
  /** Further names and addresses for the certificate that is made. */
  readonly extraSans?: readonly string[]
  /** Whether clients show certificates of their own. Default: `optional` where it is said by whom, else `none`. */
  readonly verifyMode?: VerifyMode
  /** The authorities that client certificates must be of: a file in PEM, */
  readonly verifyCafile?: string
  /** a folder of such files, */
  readonly verifyCapath?: string
  /** or the PEM itself. */
  readonly verifyCadata?: string | Uint8Array
  /** How often the files are looked at. Default: every minute. */
  readonly fileCheckInterval?: Duration
  /** Whatever else Node can be told of TLS, such as `ciphers`. */
  readonly context?: SecureContextOptions
}

const flag: OptionCheck = { expected: 'true or false', isValid: (value) => typeof value === 'boolean' }
const pem: OptionCheck = {
  expected: 'certificates in PEM: a string or bytes',
  isValid: (value) => (typeof value === 'string' || value instanceof Uint8Array) && value.length > 0,
}

const checks: Readonly<Record<keyof WebhookServerOptions, OptionCheck>> = {
  addr: textCheck,
  port: portCheck,
  path: pathCheck,
  host: {
    expected: 'a host name or an address, without a scheme or a port',
    isValid: (value) => typeof value === 'string' && /^([\w.-]+|[\da-fA-F:.]+)$/.test(value),
  },
  cadata: pem,
  cafile: textCheck,
  cadump: textCheck,
  insecure: flag,
  certfile: textCheck,
  pkeyfile: textCheck,
  password: { expected: 'a string', isValid: (value) => typeof value === 'string' },
  extraSans: {
    expected: 'a list of host names and addresses',
    isValid: (value) => Array.isArray(value) && value.every(textCheck.isValid),
  },
  verifyMode: {
    expected: '"none", "optional" or "required"',
    isValid: (value) => value === 'none' || value === 'optional' || value === 'required',
  },
  verifyCafile: textCheck,
  verifyCapath: textCheck,
  verifyCadata: pem,
  fileCheckInterval: durationCheck,
  context: {
    expected: "an object with options of Node's tls.createSecureContext",
    isValid: (value) => typeof value === 'object' && value !== null,
  },
}

/** Without those that are undefined. */
export function checkServerOptions(options: WebhookServerOptions): WebhookServerOptions {
  const known = checkOptions<WebhookServerOptions>(options, checks)
  checkCombinations(known)
  return known
}

/** Options that contradict each other, or need each other. */
function checkCombinations(options: WebhookServerOptions): void {
  const { insecure, certfile, pkeyfile, verifyMode, context } = options
  if (insecure === true) {
    const useless = tlsOptions.find((name) => options[name] !== undefined)
    if (useless !== undefined)
      throwOptionsError(`"insecure" is plain HTTP, for which "${useless}" means nothing; leave out one`)
    return
  }
  if ((certfile === undefined) !== (pkeyfile === undefined)) {
    const missing = certfile === undefined ? 'certfile' : 'pkeyfile'
    throwOptionsError(
      `"certfile" and "pkeyfile" go together; give "${missing}" too, or neither for a certificate that is made`,
    )
  }
  const hasClientCas = verifyOptions.some((name) => options[name] !== undefined)
  if (verifyMode === 'none' && hasClientCas) {
    throwOptionsError(
      'with "verifyMode" as "none", client certificates are not asked for; leave it out, or the authorities',
    )
  }
  if (verifyMode !== undefined && verifyMode !== 'none' && !hasClientCas && context?.ca === undefined) {
    throwOptionsError(
      'client certificates need authorities to be of; give "verifyCafile", "verifyCapath" or "verifyCadata"',
    )
  }
  if (context?.minVersion === 'TLSv1' || context?.minVersion === 'TLSv1.1') {
    throwOptionsError('versions of TLS before 1.2 are broken; leave out "minVersion" of "context"')
  }
}

const verifyOptions = ['verifyCafile', 'verifyCapath', 'verifyCadata'] as const
const tlsOptions = ['context', 'certfile', 'pkeyfile', 'verifyMode', ...verifyOptions] as const

export function verifyModeOf(options: WebhookServerOptions): VerifyMode {
  return options.verifyMode ?? (verifyOptions.some((name) => options[name] !== undefined) ? 'optional' : 'none')
}
