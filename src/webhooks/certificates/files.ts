/** Reads what a webhook server was told of certificates in files, all of it at once. What will not do is refused with reasons. */
import { X509Certificate } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { KopfError } from '../../errors.ts'
import type { WebhookServerOptions } from '../server-options.ts'

export interface CertificateTexts {
  readonly cert: string | undefined
  readonly key: string | undefined
  /** What API servers are to trust, where that is said. */
  readonly ca: string | undefined
  /** The authorities of clients, one text for each file; undefined where none are given. */
  readonly clientCas: string[] | undefined
}

export async function readCertificateTexts(options: WebhookServerOptions): Promise<CertificateTexts> {
  const { certfile, pkeyfile, cadata, cafile } = options
  const [cert, key, ca, clientCas] = await Promise.all([
    certfile === undefined ? undefined : readCertificates('certfile', certfile),
    pkeyfile === undefined ? undefined : readKey(pkeyfile),
    cadata !== undefined
      ? checkCertificates('"cadata"', toText(cadata))
      : cafile === undefined
        ? undefined
        : readCertificates('cafile', cafile),
    readClientCas(options),
  ])
  return { cert, key, ca, clientCas }
}

async function readClientCas(options: WebhookServerOptions): Promise<string[] | undefined> {
  const { verifyCafile, verifyCapath, verifyCadata } = options
  const texts: string[] = []
  if (verifyCafile !== undefined) texts.push(await readCertificates('verifyCafile', verifyCafile))
  if (verifyCapath !== undefined) texts.push(...(await readFolder(verifyCapath)))
  if (verifyCadata !== undefined) texts.push(checkCertificates('"verifyCadata"', toText(verifyCadata)))
  return texts.length === 0 ? undefined : texts
}

/** Hidden files are not for us: volumes of Kubernetes keep their earlier states so. */
async function readFolder(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error) => throwFileError('verifyCapath', folder, error))
  const visible = names.filter((name) => !name.startsWith('.')).sort()
  if (visible.length === 0) throwCertificateError(`there are no files in "${folder}" of "verifyCapath"`)
  return Promise.all(visible.map((name) => readCertificates('verifyCapath', join(folder, name))))
}

async function readCertificates(option: string, path: string): Promise<string> {
  return checkCertificates(`the file "${path}" of "${option}"`, await readText(option, path))
}

async function readKey(path: string): Promise<string> {
  const text = await readText('pkeyfile', path)
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----.*-----END [A-Z ]*PRIVATE KEY-----/s.test(text)) return text
  return throwCertificateError(
    `the file "${path}" of "pkeyfile" does not hold a private key in PEM, or not a whole one`,
  )
}

async function readText(option: string, path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error) => throwFileError(option, path, error))
}

function throwFileError(option: string, path: string, cause: NodeJS.ErrnoException): never {
  const { code } = cause
  const why = code === 'ENOENT' ? 'is not there' : code === 'EACCES' ? 'may not be read by this user' : `gives ${code}`
  return throwCertificateError(`"${path}" of "${option}" ${why}`, cause)
}

function toText(pem: string | Uint8Array): string {
  return typeof pem === 'string' ? pem : Buffer.from(pem).toString('utf8')
}

/** Node passes over what it cannot read of a list of certificates, such as the end of a file that is still being written. */
function checkCertificates(what: string, text: string): string {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? []
  const begun = text.match(/-----BEGIN /g)?.length ?? 0
  const ended = text.match(/-----END /g)?.length ?? 0
  if (blocks.length === 0 || begun !== ended || !blocks.every(isCertificate)) {
    throwCertificateError(`${what} does not hold certificates in PEM, or not whole ones`)
  }
  return text
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem) !== undefined
  } catch {
    return false
  }
}

const badPassword = 'the key is encrypted, and "password" is missing or another one'
const problems: Readonly<Record<string, string>> = {
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: 'the certificate and the key do not belong together',
  ERR_MISSING_PASSPHRASE: badPassword,
  ERR_OSSL_BAD_DECRYPT: badPassword,
  ERR_OSSL_EVP_BAD_DECRYPT: badPassword,
}

/** That they can be used, and belong together. */
export function checkTls(tls: SecureContextOptions): void {
  try {
    createSecureContext(tls)
  } catch (error) {
    const { code = 'for no known reason' } = error as NodeJS.ErrnoException
    throwCertificateError(problems[code] ?? `the certificate or the key cannot be used (${code})`, error)
  }
}

function throwCertificateError(why: string, cause?: unknown): never {
  throw new KopfError('KOPF_WEBHOOK_SERVER', `Cannot use the certificates of the webhook server: ${why}`, { cause })
}
