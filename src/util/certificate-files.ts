/**
 * Reads certificates and keys in PEM from files, and checks them: complete, decodable, belonging together. Used by the webhook servers and by
 * the endpoints of src/serving, whose errors differ.
 */
import { X509Certificate } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext, type SecureContextOptions } from 'node:tls'

/** Throws the error of the caller. `why` is a clause that quotes the option and the file. */
type FailCertificates = (why: string, cause?: unknown) => never

const mismatch = 'the certificate and the key do not belong together'
const badPassword = new Set(['ERR_MISSING_PASSPHRASE', 'ERR_OSSL_BAD_DECRYPT', 'ERR_OSSL_EVP_BAD_DECRYPT'])

export class CertificateFiles {
  readonly #fail: FailCertificates
  /** What is wrong if a key cannot be decrypted. */
  readonly #encrypted: string

  constructor(fail: FailCertificates, encrypted: string) {
    this.#fail = fail
    this.#encrypted = encrypted
  }

  async readCertificates(option: string, path: string): Promise<string> {
    return this.checkCertificates(`the file "${path}" of "${option}"`, await this.#readText(option, path))
  }

  /** Ignores hidden files: in Secret and ConfigMap volumes, they are links to the current and earlier states. */
  async readFolder(option: string, folder: string): Promise<string[]> {
    const names = await readdir(folder).catch((error) => this.#failFile(option, folder, error))
    const visible = names.filter((name) => !name.startsWith('.')).sort()
    if (visible.length === 0) this.#fail(`there are no files in "${folder}" of "${option}"`)
    return Promise.all(visible.map((name) => this.readCertificates(option, join(folder, name))))
  }

  async readKey(option: string, path: string): Promise<string> {
    const text = await this.#readText(option, path)
    if (/-----BEGIN [A-Z ]*PRIVATE KEY-----.*-----END [A-Z ]*PRIVATE KEY-----/s.test(text)) return text
    return this.#fail(`the file "${path}" of "${option}" has no complete private key in PEM`)
  }

  /** Fails if a certificate is incomplete. Node ignores invalid certificates of a list, such as the end of a file that is still being written. */
  checkCertificates(source: string, text: string): string {
    const blocks = text.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? []
    const begun = text.match(/-----BEGIN /g)?.length ?? 0
    const ended = text.match(/-----END /g)?.length ?? 0
    if (blocks.length === 0 || begun !== ended || !blocks.every(isCertificate)) {
      this.#fail(`${source} has no complete certificates in PEM`)
    }
    return text
  }

  /** Fails if the certificate and the key cannot be used, or do not belong together. */
  checkTls(tls: SecureContextOptions): void {
    try {
      createSecureContext(tls)
    } catch (error) {
      const { code = 'unknown reason' } = error as NodeJS.ErrnoException
      if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH') this.#fail(mismatch, error)
      // A wrong password can decrypt a key into bytes with valid padding (one time in 256). OpenSSL then reports a key that it cannot decode.
      if (badPassword.has(code) || isEncrypted(tls.key)) this.#fail(this.#encrypted, error)
      this.#fail(`the certificate or the key cannot be used (${code})`, error)
    }
  }

  async #readText(option: string, path: string): Promise<string> {
    return readFile(path, 'utf8').catch((error) => this.#failFile(option, path, error))
  }

  #failFile(option: string, path: string, cause: NodeJS.ErrnoException): never {
    const why =
      cause.code === 'ENOENT'
        ? 'does not exist'
        : cause.code === 'EACCES'
          ? 'may not be read by this user'
          : `cannot be read (${cause.code})`
    return this.#fail(`"${path}" of "${option}" ${why}`, cause)
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem) !== undefined
  } catch {
    return false
  }
}

function isEncrypted(key: SecureContextOptions['key']): boolean {
  return (
    (typeof key === 'string' || Buffer.isBuffer(key)) &&
    /^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(String(key))
  )
}
