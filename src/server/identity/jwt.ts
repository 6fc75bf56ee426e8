/** Signs and verifies JSON Web Tokens (RFC 7519) with the one algorithm this server uses: ES256 with its own key. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { isPlainObject } from '../../util/json/json.ts'

type JwtClaims = Readonly<Record<string, unknown>>

/** The public key as a JWK set lists it. */
export type PublicJwk = Readonly<Record<'use' | 'kty' | 'kid' | 'crv' | 'alg' | 'x' | 'y', string>>

/** A token of this issuer with an invalid signature. */
export class SignatureError extends Error {}

const dsaEncoding = 'ieee-p1363'

export class TokenSigner {
  readonly #private: KeyObject
  readonly #public: KeyObject
  readonly #header: string
  readonly jwk: PublicJwk

  /** Takes a PEM key from `exportKey`, or generates a new key. */
  constructor(pem?: string) {
    this.#private = pem === undefined ? newKey() : createPrivateKey(pem)
    this.#public = createPublicKey(this.#private)
    const der = this.#public.export({ type: 'spki', format: 'der' })
    const kid = createHash('sha256').update(der).digest('base64url')
    const { x = '', y = '' } = this.#public.export({ format: 'jwk' })
    this.jwk = { use: 'sig', kty: 'EC', kid, crv: 'P-256', alg: 'ES256', x, y }
    this.#header = encode({ alg: 'ES256', kid })
  }

  exportKey(): string {
    return String(this.#private.export({ type: 'pkcs8', format: 'pem' }))
  }

  sign(claims: JwtClaims): string {
    const signed = `${this.#header}.${encode(claims)}`
    return `${signed}.${sign('sha256', Buffer.from(signed), { key: this.#private, dsaEncoding }).toString('base64url')}`
  }

  /** Throws a SignatureError. */
  verify(token: string): void {
    const end = token.lastIndexOf('.')
    const header = decode(token.slice(0, token.indexOf('.')))
    if (header?.['alg'] !== 'ES256') throw new SignatureError('go-jose/go-jose: error in cryptographic primitive')
    if (header['kid'] !== undefined && header['kid'] !== '' && header['kid'] !== this.jwk.kid) {
      throw new SignatureError('invalid signature, no keys found')
    }
    const signature = Buffer.from(token.slice(end + 1), 'base64url')
    const isValid = verify('sha256', Buffer.from(token.slice(0, end)), { key: this.#public, dsaEncoding }, signature)
    if (!isValid) throw new SignatureError('go-jose/go-jose: error in cryptographic primitive')
  }
}

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

/** The claims of a token, without verifying the signature. Undefined if the string is not a JWT. */
export function readClaims(token: string): JwtClaims | undefined {
  const parts = token.split('.')
  return parts.length === 3 && parts.every((part) => part !== '') ? decode(parts[1]!) : undefined
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function decode(part: string): JwtClaims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return isPlainObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
