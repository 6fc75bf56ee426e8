/** The interface between a webhook server and the source of its certificates: files, a generated CA, or a Secret. Used by serve-reviews.ts. */
import type { SecureContextOptions } from 'node:tls'
import type { WebhookContext } from '../../settings/webhook-server.ts'
import { untilAborted } from '../../util/async/any-signal.ts'

/** The certificate of a server, and the CA certificates that verify it. */
export interface Certificates {
  /** Undefined for plain HTTP. */
  readonly tls: SecureContextOptions | undefined
  /** The CA certificates in PEM; undefined if the API server trusts the certificate without them. */
  readonly ca: string | undefined
}

export type CertificatesContext = Pick<WebhookContext, 'signal' | 'clock' | 'logger'>

/** Yields the certificates first, and again whenever they change. Ends when the signal is aborted. Throws if there are no first certificates. */
export type CertificateSource = (context: CertificatesContext) => AsyncIterable<Certificates>

/** A source of certificates that never change. */
export async function* constantCertificates(
  certificates: Certificates,
  { signal }: CertificatesContext,
): AsyncIterable<Certificates> {
  yield certificates
  await untilAborted(signal)
}
