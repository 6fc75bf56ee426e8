/** Reads the certificate files and options of a `WebhookServer`, and checks them. Called by renewal.ts and server.ts. */
import type { SecureContextOptions } from 'node:tls'
import { KopfError } from '../../errors.ts'
import { CertificateFiles } from '../../util/certificate-files.ts'
import type { CheckedServerOptions } from '../server-options.ts'

export interface CertificateTexts {
  readonly cert: string | undefined
  readonly key: string | undefined
  /** The CA certificates for the API server; undefined if none are given. */
  readonly ca: string | undefined
  /** The CA certificates that verify clients, one text for each file; undefined if none are given. */
  readonly clientCas: string[] | undefined
}

const files = new CertificateFiles((why, cause) => {
  throw new KopfError('KOPF_WEBHOOK_SERVER', `Cannot use the certificates of the webhook server: ${why}`, { cause })
}, 'the key is encrypted, and "password" is missing or wrong')

export async function readCertificateTexts(options: CheckedServerOptions): Promise<CertificateTexts> {
  const { certfile, pkeyfile, cadata, cafile } = options
  const [cert, key, ca, clientCas] = await Promise.all([
    certfile === undefined ? undefined : files.readCertificates('certfile', certfile),
    pkeyfile === undefined ? undefined : files.readKey('pkeyfile', pkeyfile),
    cadata !== undefined
      ? files.checkCertificates('"cadata"', toText(cadata))
      : cafile === undefined
        ? undefined
        : files.readCertificates('cafile', cafile),
    readClientCas(options),
  ])
  return { cert, key, ca, clientCas }
}

async function readClientCas(options: CheckedServerOptions): Promise<string[] | undefined> {
  const { verifyCafile, verifyCapath, verifyCadata } = options
  const texts: string[] = []
  if (verifyCafile !== undefined) texts.push(await files.readCertificates('verifyCafile', verifyCafile))
  if (verifyCapath !== undefined) texts.push(...(await files.readFolder('verifyCapath', verifyCapath)))
  if (verifyCadata !== undefined) texts.push(files.checkCertificates('"verifyCadata"', toText(verifyCadata)))
  return texts.length === 0 ? undefined : texts
}

function toText(pem: string | Uint8Array): string {
  return typeof pem === 'string' ? pem : Buffer.from(pem).toString('utf8')
}

/** Throws if the certificate and the key cannot be used, or do not belong together. */
export function checkTls(tls: SecureContextOptions): void {
  files.checkTls(tls)
}
