/**
 * A listener and a source of certificates, put together: what every server of this package is made of. Listens until the
 * signal, renews what is shown in handshakes without a break, and tells how the server is reached whenever that changes.
 */
import type { WebhookClientConfig, WebhookContext, WebhookFn } from '../settings/webhook-server.ts'
import { trySleep } from '../util/async/clock.ts'
import type { CertificateSource, Certificates } from './certificates/source.ts'
import { startListener, type VerifyMode, type WebhookListener } from './http/listener.ts'
import { ReviewRequests } from './http/review-request.ts'

export interface ServingOptions {
  readonly addr: string | undefined
  /** Any that is free where there is none. */
  readonly port: number | undefined
  /** Empty, or with a slash at its beginning and none at its end. */
  readonly path: string
  readonly verifyMode: VerifyMode
  readonly certificates: CertificateSource
  /** Called once it is known which port it is. */
  readonly toClientConfig: (port: number) => WebhookClientConfig
}

/** How long API servers may take to learn of a new authority before a certificate of it is shown to them. */
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
      // Both, at first: until all API servers know the new one, the old certificate is shown.
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

interface Start {
  readonly fn: WebhookFn
  readonly context: WebhookContext
  readonly certificates: Certificates
}

async function startServing(options: ServingOptions, { fn, context, certificates }: Start): Promise<WebhookListener> {
  const { addr, port = 0, path, verifyMode } = options
  const reviews = new ReviewRequests({ fn, path, context })
  return startListener({ addr, port, verifyMode, tls: certificates.tls }, reviews, context)
}

function withBundle(config: WebhookClientConfig, ca: string | undefined): WebhookClientConfig {
  return ca === undefined ? config : { ...config, caBundle: Buffer.from(ca).toString('base64') }
}

interface BundleChange {
  /** Whether the new one has what the old one has not. */
  readonly isAdded: boolean
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
