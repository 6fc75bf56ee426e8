/**
 * The certificates of a `WebhookServer`, from the first ones to the last: read from files or made, looked at again and again,
 * and told of whenever they are others. What cannot be used is reported, and those before it are kept.
 */
import { X509Certificate } from 'node:crypto'
import { trySleep } from '../../util/async/clock.ts'
import { CertificateAuthority, type KeyPair } from '../../util/certificates.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type { Logger } from '../../util/log/log.ts'
import { toMs } from '../../util/text/duration.ts'
import { toHosts } from '../addresses.ts'
import type { WebhookServerOptions } from '../server-options.ts'
import { checkTls, readCertificateTexts } from './files.ts'
import type { Certificates, CertificatesContext } from './source.ts'

type Load = () => Promise<Certificates>

/** `names`: what a certificate that is made is to be for. */
export async function* renewCertificates(
  options: WebhookServerOptions,
  names: readonly string[],
  context: CertificatesContext,
): AsyncIterable<Certificates> {
  const load = await createLoader(options, names, context)
  const reload = withReports(load, context.logger)
  let current = await load()
  warnIfExpired(current, context)
  yield current
  while (await trySleep(context.clock, intervalMs(options), context.signal)) {
    const latest = await reload()
    if (latest === undefined || isDeepEqual(latest, current)) continue
    current = latest
    context.logger.info('The webhook server goes on with renewed certificates')
    warnIfExpired(current, context)
    yield current
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
  const selfSigned = isGiven ? undefined : await SelfSigned.create(names)
  return async () => {
    const { cert, key, ca, clientCas } = await readCertificateTexts(options)
    const pair = await selfSigned?.issue(clock.now())
    const tls = {
      ...more,
      ...(cert === undefined ? {} : { cert, key: key! }),
      ...(cert === undefined || password === undefined ? {} : { passphrase: password }),
      ...(pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }),
      ...(clientCas === undefined ? {} : { ca: clientCas }),
    }
    checkTls(tls)
    // As in Kopf: one that was made is known by its own authority, and a given one by itself unless it is said by what.
    return { tls, ca: selfSigned?.caPem ?? ca ?? cert }
  }
}

/** Undefined where it fails; each problem is told once, since it may be there for long. */
function withReports(load: Load, logger: Logger): () => Promise<Certificates | undefined> {
  let reported: string | undefined
  return async () => {
    try {
      const latest = await load()
      reported = undefined
      return latest
    } catch (error) {
      const { message } = error as Error
      if (message !== reported) logger.warn(`${message}. Those before are used as long as this is so`)
      reported = message
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

const yearMs = 365 * 24 * 3_600_000
/** So long that no process lives to see it. */
const authorityLifetimeMs = 20 * yearMs
/** The last third is for those whose clock is wrong, and for what goes wrong. */
const renewAfterMs = (yearMs * 2) / 3

class SelfSigned {
  readonly #authority: CertificateAuthority
  readonly #names: readonly string[]
  #issued: { readonly pair: KeyPair; readonly atMs: number } | undefined

  private constructor(authority: CertificateAuthority, names: readonly string[]) {
    this.#authority = authority
    this.#names = names
  }

  static async create(names: readonly string[]): Promise<SelfSigned> {
    const authority = await CertificateAuthority.create('kopf-webhooks', { lifetimeMs: authorityLifetimeMs })
    return new SelfSigned(authority, names)
  }

  /** Stays the same whatever is issued: so what the API server trusts does not change. */
  get caPem(): string {
    return this.#authority.caPem
  }

  /** The same one until two thirds of its life are over. */
  async issue(nowMs: number): Promise<KeyPair> {
    if (this.#issued === undefined || nowMs - this.#issued.atMs >= renewAfterMs) {
      const pair = await this.#authority.issue({ ...toHosts(this.#names), lifetimeMs: yearMs })
      this.#issued = { pair, atMs: nowMs }
    }
    return this.#issued.pair
  }
}
