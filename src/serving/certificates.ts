/**
 * The certificate of an HTTPS endpoint: read from files, and again when they change, or self-signed in memory and renewed before it expires.
 * An invalid file is logged, and the earlier certificate stays in use. Called by the owners of endpoints; endpoint.ts applies the certificates.
 */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { type Clock, trySleep } from '../util/async/clock.ts'
import { CertificateFiles } from '../util/certificate-files.ts'
import { type KeyPair, SelfSigned } from '../util/certificates.ts'
import type { Logger } from '../util/log/log.ts'

export interface CertificateOptions {
  /** The certificate with its chain, in PEM. Null: the certificate is self-signed. */
  readonly certFile: string | null
  /** The private key of `certFile`, in PEM. */
  readonly keyFile: string | null
  /** What the endpoint serves, for the log: "metrics". */
  readonly name: string
  /** The host in the address of the endpoint. */
  readonly host: string
  readonly clock: Clock
  readonly logger: Logger
  /** Called with what is wrong with the files, as a clause. */
  readonly fail: (why: string, cause?: unknown) => never
}

/** The kubelet updates the files of a Secret within about a minute as well. */
const fileCheckMs = 60_000
/** A generated certificate is checked for its age. */
const ageCheckMs = 24 * 3_600_000

/** Yields the certificate, and later each new one, until the signal is aborted. Fails at once if the first one cannot be read. */
export async function* serveCertificates(options: CertificateOptions, signal: AbortSignal): AsyncIterable<KeyPair> {
  const { clock, logger, name, certFile } = options
  const load = await createLoader(options)
  let current = await load()
  warnIfExpired(current, options)
  yield current
  let logged: string | undefined
  while (await trySleep(clock, certFile === null ? ageCheckMs : fileCheckMs, signal)) {
    try {
      const latest = await load()
      logged = undefined
      if (latest.certPem === current.certPem && latest.keyPem === current.keyPem) continue
      current = latest
    } catch (error) {
      const { message } = error as Error
      if (message !== logged) logger.warn(`${message}; the earlier certificate stays in use`)
      logged = message
      continue
    }
    logger.info(`The endpoint of ${name} uses a renewed certificate.`)
    warnIfExpired(current, options)
    yield current
  }
}

async function createLoader({
  certFile,
  keyFile,
  host,
  clock,
  fail,
}: CertificateOptions): Promise<() => Promise<KeyPair>> {
  if (certFile === null && keyFile === null) {
    const selfSigned = await SelfSigned.create('kopf-serving', toNames(host))
    return () => selfSigned.issue(clock.now())
  }
  if (certFile === null)
    return fail('"keyFile" is set without "certFile"; set both, or none for a self-signed certificate')
  if (keyFile === null)
    return fail('"certFile" is set without "keyFile"; set both, or none for a self-signed certificate')
  const files = new CertificateFiles(fail, 'the key is encrypted; store it without a password')
  return async () => {
    const [certPem, keyPem] = await Promise.all([
      files.readCertificates('certFile', certFile),
      files.readKey('keyFile', keyFile),
    ])
    files.checkTls({ cert: certPem, key: keyPem })
    return { certPem, keyPem }
  }
}

/** The names by which the endpoint may be reached, without the unspecified address of all interfaces. */
function toNames(host: string): { readonly commonName: string; readonly hosts: readonly string[] } {
  const isUnspecified = host === '0.0.0.0' || (isIP(host) === 6 && /^[0:]+$/.test(host))
  const hosts = new Set(['localhost', '127.0.0.1', '::1', toDnsName(hostname()), ...(isUnspecified ? [] : [host])])
  return { commonName: 'kopf-serving', hosts: [...hosts].filter((name) => name !== '') }
}

/** Host names of some machines have characters that a certificate may not contain. */
function toDnsName(name: string): string {
  return /^[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(name) ? name : ''
}

function warnIfExpired({ certPem }: KeyPair, { logger, name }: CertificateOptions): void {
  const { validTo } = new X509Certificate(certPem)
  // Compared with the system clock, not with the operator's clock: clients check the real time.
  if (Date.parse(validTo) < Date.now())
    logger.warn(`The certificate of the endpoint of ${name} has expired: ${validTo}`)
}
