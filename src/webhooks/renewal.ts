/**
 * The certificates of a `WebhookServer`, from the first ones to the last: read from files or made, looked at again and again,
 * and told of whenever they are others. What cannot be used is reported, and those before it are kept.
 */
import { X509Certificate } from 'node:crypto'
import { toMs } from '../util/duration.ts'
import { isDeepEqual } from '../util/equality.ts'
import type { Logger } from '../util/log.ts'
import { checkTls, readCertificateTexts } from './certificate-files.ts'
import { type Certificates, type CertificatesContext, pause } from './certificates.ts'
import { SelfSigned } from './self-signed.ts'
import type { WebhookServerOptions } from './server-options.ts'

type Load = () => Promise<Certificates>

/** `names`: what a certificate that is made is to be for. */
export async function* renewCertificates(
  options: WebhookServerOptions,
  names: readonly string[],
  context: CertificatesContext,
): AsyncIterable<Certificates> {
  const load = await createLoader(options, names, context)
  const reload = withReports(load, context.logger)
  let shown = await load()
  warnIfExpired(shown, context)
  yield shown
  while (await pause(intervalMs(options), context)) {
    const latest = await reload()
    if (latest === undefined || isDeepEqual(latest, shown)) continue
    shown = latest
    context.logger.info('The webhook server goes on with renewed certificates')
    warnIfExpired(shown, context)
    yield shown
  }
}

/** A function that reads everything as it is now. */
async function createLoader(
  options: WebhookServerOptions,
  names: readonly string[],
  { clock, logger }: CertificatesContext,
): Promise<Load> {
  const { certfile, password, context: more = {} } = options
  const isGiven = certfile !== undefined || more.cert !== undefined || more.pfx !== undefined
  logger.debug(isGiven ? 'Using a provided certificate for HTTPS' : 'Generating a self-signed certificate for HTTPS')
  const own = isGiven ? undefined : await SelfSigned.create(names)
  return async () => {
    const { cert, key, ca, clientCas } = await readCertificateTexts(options)
    const pair = await own?.issue(clock.now())
    const tls = {
      ...more,
      ...(cert === undefined ? {} : { cert, key: key! }),
      ...(cert === undefined || password === undefined ? {} : { passphrase: password }),
      ...(pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }),
      ...(clientCas === undefined ? {} : { ca: clientCas }),
    }
    checkTls(tls)
    // As in Kopf: one that was made is known by its own authority, and a given one by itself unless it is said by what.
    return { tls, ca: own?.caPem ?? ca ?? cert }
  }
}

/** Undefined where it fails; each problem is told once, since it may be there for long. */
function withReports(load: Load, logger: Logger): () => Promise<Certificates | undefined> {
  let told: string | undefined
  return async () => {
    try {
      const latest = await load()
      told = undefined
      return latest
    } catch (error) {
      const { message } = error as Error
      if (message !== told) logger.warn(`${message}. Those before are used as long as this is so`)
      told = message
      return undefined
    }
  }
}

function warnIfExpired({ tls }: Certificates, { logger }: CertificatesContext): void {
  const { cert } = tls ?? {}
  if (typeof cert !== 'string') return
  const { validTo } = new X509Certificate(cert)
  // By the time of day: that is what API servers go by.
  if (Date.parse(validTo) < Date.now()) logger.warn(`The certificate of the webhook server has expired: ${validTo}`)
}

/** Where there are no files, there is still the age of what was made. */
function intervalMs(options: WebhookServerOptions): number {
  const { fileCheckInterval = 60 } = options
  const isOfFiles = fileOptions.some((name) => options[name] !== undefined)
  return isOfFiles ? toMs(fileCheckInterval, '"fileCheckInterval"') : 24 * 3_600_000
}

const fileOptions = ['certfile', 'pkeyfile', 'cafile', 'verifyCafile', 'verifyCapath'] as const
