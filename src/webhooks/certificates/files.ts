/** Reads the certificate files and options of a `WebhookServer`, and checks them. Called by renewal.ts and server.ts. */
import { X509Certificate } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { KopfError } from '../../errors.ts'
import type { CheckedServerOptions } from '../server-options.ts'

export interface CertificateTexts {
  readonly cert: string | undefined
  readonly key: string | undefined
  /** The CA certificates for the API server; undefined if none are given. */
  readonly ca: string | undefined
  /** The CA certificates that verify clients, one text for each file; undefined if none are given. */
  readonly clientCas: string[] | undefined
}

export async function readCertificateTexts(options: CheckedServerOptions): Promise<CertificateTexts> {
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

async function readClientCas(options: CheckedServerOptions): Promise<string[] | undefined> {
  const { verifyCafile, verifyCapath, verifyCadata } = options
  const texts: string[] = []
  if (verifyCafile !== undefined) texts.push(await readCertificates('verifyCafile', verifyCafile))
  if (verifyCapath !== undefined) texts.push(...(await readFolder(verifyCapath)))
  if (verifyCadata !== undefined) texts.push(checkCertificates('"verifyCadata"', toText(verifyCadata)))
  return texts.length === 0 ? undefined : texts
}

/** Ignores hidden files: in Secret and ConfigMap volumes, they are links to the current and earlier states. */
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
  return throwCertificateError(`the file "${path}" of "pkeyfile" has no complete private key in PEM`)
}

async function readText(option: string, path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error) => throwFileError(option, path, error))
}

function throwFileError(option: string, path: string, cause: NodeJS.ErrnoException): never {
  const { code } = cause
  const why =
    code === 'ENOENT'
      ? 'does not exist'
      : code === 'EACCES'
        ? 'may not be read by this user'
        : `cannot be read (${code})`
  return throwCertificateError(`"${path}" of "${option}" ${why}`, cause)
}

function toText(pem: string | Uint8Array): string {
  return typeof pem === 'string' ? pem : Buffer.from(pem).toString('utf8')
}

/** Throws if a certificate is incomplete. Node ignores invalid certificates of a list, such as the end of a file that is still being written. */
function checkCertificates(source: string, text: string): string {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? []
  const begun = text.match(/-----BEGIN /g)?.length ?? 0
  const ended = text.match(/-----END /g)?.length ?? 0
  if (blocks.length === 0 || begun !== ended || !blocks.every(isCertificate)) {
    throwCertificateError(`${source} has no complete certificates in PEM`)
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

const badPassword = 'the key is encrypted, and "password" is missing or wrong'
const problems: Readonly<Record<string, string>> = {
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: 'the certificate and the key do not belong together',
  ERR_MISSING_PASSPHRASE: badPassword,
  ERR_OSSL_BAD_DECRYPT: badPassword,
  ERR_OSSL_EVP_BAD_DECRYPT: badPassword,
}

/** Throws if the certificate and the key cannot be used, or do not belong together. */
export function checkTls(tls: SecureContextOptions): void {
  try {
    createSecureContext(tls)
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException
    // A wrong password can decrypt a key into bytes with valid padding (one time in 256). OpenSSL then reports a key that it cannot decode.
    const problem = problems[code] ?? (isEncrypted(tls.key) ? badPassword : undefined)
    throwCertificateError(problem ?? `the certificate or the key cannot be used (${code})`, error)
  }
}

function isEncrypted(key: SecureContextOptions['key']): boolean {
  return (
    (typeof key === 'string' || Buffer.isBuffer(key)) &&
    /^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(String(key))
  )
}

function throwCertificateError(why: string, cause?: unknown): never {
  throw new KopfError('KOPF_WEBHOOK_SERVER', `Cannot use the certificates of the webhook server: ${why}`, { cause })
}
