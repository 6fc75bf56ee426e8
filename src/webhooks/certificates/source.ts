/** Between a webhook server and where its certificates come from: files, an authority of its own, a Secret. */
import type { SecureContextOptions } from 'node:tls'
import type { WebhookContext } from '../../settings/webhook-server.ts'
import { untilAborted } from '../../util/async/any-signal.ts'

/** What is shown in handshakes, and what those who call are to trust. */
export interface Certificates {
  /** Undefined for plain HTTP. */
  readonly tls: SecureContextOptions | undefined
  /** In PEM; undefined for what the API server trusts anyway. */
  readonly ca: string | undefined
}

export type CertificatesContext = Pick<WebhookContext, 'signal' | 'clock' | 'logger'>

/** The first ones at once, and then whenever they change; ends with the signal. The first must not fail to come. */
export type CertificateSource = (context: CertificatesContext) => AsyncIterable<Certificates>

/** Those that never change. */
export async function* constantCertificates(
  certificates: Certificates,
  { signal }: CertificatesContext,
): AsyncIterable<Certificates> {
  yield certificates
  await untilAborted(signal)
}
