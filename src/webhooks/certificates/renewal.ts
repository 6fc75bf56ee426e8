/**
 * The certificates of a `WebhookServer`: reads them from files or generates them, checks them regularly, and yields them whenever they have changed.
 * Invalid certificates are logged, and the earlier ones stay in use. Called by server.ts.
 */
import { X509Certificate } from 'node:crypto'
import { trySleep } from '../../util/async/clock.ts'
import { SelfSigned } from '../../util/certificates.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type { Logger } from '../../util/log/log.ts'
import { toMs } from '../../util/text/duration.ts'
import { toHosts } from '../addresses.ts'
import type { CheckedServerOptions } from '../server-options.ts'
import { checkTls, readCertificateTexts } from './files.ts'
import type { Certificates, CertificatesContext } from './source.ts'

type LoadCertificates = () => Promise<Certificates>

/** `names`: the host names and addresses of a generated certificate. */
export async function* renewCertificates(
  options: CheckedServerOptions,
  names: readonly string[],
  context: CertificatesContext,
): AsyncIterable<Certificates> {
  const load = await createLoader(options, names, context)
  const reload = logFailures(load, context.logger)
  let current = await load()
  warnIfExpired(current, context)
  yield current
  while (await trySleep(context.clock, checkIntervalMs(options), context.signal)) {
    const latest = await reload()
    if (latest === undefined || isDeepEqual(latest, current)) continue
    current = latest
    context.logger.info('The webhook server uses renewed certificates')
    warnIfExpired(current, context)
    yield current
  }
}

/** Returns a function that reads the current certificates. */
async function createLoader(
  options: CheckedServerOptions,
  names: readonly string[],
  { clock, logger }: CertificatesContext,
): Promise<LoadCertificates> {
  const { certfile, password, context: otherOptions = {} } = options
  const isGiven = certfile !== undefined || otherOptions.cert !== undefined || otherOptions.pfx !== undefined
  logger.debug(isGiven ? 'Using a provided certificate for HTTPS' : 'Generating a self-signed certificate for HTTPS')
  const selfSigned = isGiven ? undefined : await SelfSigned.create('kopf-webhooks', toHosts(names))
  return async () => {
    const { cert, key, ca, clientCas } = await readCertificateTexts(options)
    const pair = await selfSigned?.issue(clock.now())
    const tls = {
      ...otherOptions,
      ...(cert === undefined ? {} : { cert, key: key! }),
      ...(cert === undefined || password === undefined ? {} : { passphrase: password }),
      ...(pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }),
      ...(clientCas === undefined ? {} : { ca: clientCas }),
    }
    checkTls(tls)
    // As in Kopf: a generated certificate is verified by its CA, and a given one by the given CA or by itself.
    return { tls, ca: selfSigned?.caPem ?? ca ?? cert }
  }
}

/** Resolves to undefined after a failure, and logs it. A failure that repeats is logged once. */
function logFailures(load: LoadCertificates, logger: Logger): () => Promise<Certificates | undefined> {
  let logged: string | undefined
  return async () => {
    try {
      const latest = await load()
      logged = undefined
      return latest
    } catch (error) {
      const { message } = error as Error
      if (message !== logged) logger.warn(`${message}; the earlier certificates stay in use`)
      logged = message
      return undefined
    }
  }
}

function warnIfExpired({ tls }: Certificates, { logger }: CertificatesContext): void {
  const { cert } = tls ?? {}
  if (typeof cert !== 'string') return
  const { validTo } = new X509Certificate(cert)
  // Compared with the system clock, not with the operator's clock: API servers check the real time.
  if (Date.parse(validTo) < Date.now()) logger.warn(`The certificate of the webhook server has expired: ${validTo}`)
}

/** The time between two checks. Without files, only the age of the generated certificate is checked. */
function checkIntervalMs(options: CheckedServerOptions): number {
  const { fileCheckInterval = 60 } = options
  const hasFiles = fileOptions.some((name) => options[name] !== undefined)
  return hasFiles ? toMs(fileCheckInterval, '"fileCheckInterval"') : 24 * 3_600_000
}

const fileOptions = ['certfile', 'pkeyfile', 'cafile', 'verifyCafile', 'verifyCapath'] as const
