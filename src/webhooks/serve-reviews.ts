/**
 * Serves reviews with certificates from a source; the common part of all webhook servers. Listens until the signal is aborted, renews the certificate
 * without a break, and yields the client configuration whenever it changes. Called by server.ts and service-server.ts.
 */
import type { WebhookClientConfig, WebhookContext, WebhookFn } from '../settings/webhook-server.ts'
import { trySleep } from '../util/async/clock.ts'
import type { CertificateSource, Certificates } from './certificates/source.ts'
import { startListener, type VerifyMode, type WebhookListener } from './http/listener.ts'
import { ReviewRequests } from './http/review-request.ts'

export interface ServingOptions {
  readonly addr: string | undefined
  /** Undefined for any free port. */
  readonly port: number | undefined
  /** The common prefix of all webhook paths: empty, or with a slash at its start and none at its end. */
  readonly path: string
  readonly verifyMode: VerifyMode
  readonly certificates: CertificateSource
  /** Called once, when the server listens, with the actual port. */
  readonly toClientConfig: (port: number) => WebhookClientConfig
}

/** The time for API servers to learn about a new CA before the server uses a certificate that it has signed. */
const caPropagationMs = 10_000

export async function* serveReviews(
  options: ServingOptions,
  fn: WebhookFn,
  context: WebhookContext,
): AsyncGenerator<WebhookClientConfig, void, undefined> {
  let open:
    | { readonly listener: WebhookListener; readonly config: WebhookClientConfig; ca: string | undefined }
    | undefined
  try {
    for await (const certificates of options.certificates(context)) {
      const { tls, ca } = certificates
      if (open === undefined) {
        const listener = await startServing(options, { fn, context, certificates })
        open = { listener, config: options.toClientConfig(listener.port), ca }
        yield withBundle(open.config, ca)
        continue
      }
      const { isAdded, isRemoved, both } = compareBundles(open.ca, ca)
      // The bundle contains the old and the new CA until all API servers know the new one: the old certificate is served until then.
      if (isAdded) yield withBundle(open.config, isRemoved ? both : ca)
      if (isAdded && !(await trySleep(context.clock, caPropagationMs, context.signal))) return
      if (tls !== undefined) open.listener.renew(tls)
      if (isRemoved) yield withBundle(open.config, ca)
      open.ca = ca
    }
  } finally {
    await open?.listener.close()
  }
}

interface StartParts {
  readonly fn: WebhookFn
  readonly context: WebhookContext
  readonly certificates: Certificates
}

async function startServing(
  options: ServingOptions,
  { fn, context, certificates }: StartParts,
): Promise<WebhookListener> {
  const { addr, port = 0, path, verifyMode } = options
  const reviews = new ReviewRequests({ fn, path, context })
  return startListener({ addr, port, verifyMode, tls: certificates.tls }, reviews, context)
}

function withBundle(config: WebhookClientConfig, ca: string | undefined): WebhookClientConfig {
  return ca === undefined ? config : { ...config, caBundle: Buffer.from(ca).toString('base64') }
}

interface BundleChange {
  /** Whether the new bundle has a certificate that the old one has not. */
  readonly isAdded: boolean
  /** Whether the old bundle has a certificate that the new one has not. */
  readonly isRemoved: boolean
  readonly both: string | undefined
}

function compareBundles(one: string | undefined, other: string | undefined): BundleChange {
  const [before, after] = [new Set(splitBundle(one)), new Set(splitBundle(other))]
  return {
    isAdded: [...after].some((pem) => !before.has(pem)),
    isRemoved: [...before].some((pem) => !after.has(pem)),
    both: one === undefined || other === undefined ? undefined : [...new Set([...before, ...after])].join('\n'),
  }
}

function splitBundle(bundle: string | undefined): readonly string[] {
  if (bundle === undefined) return []
  return bundle.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? [bundle]
}
