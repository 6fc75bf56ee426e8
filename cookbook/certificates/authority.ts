/**
 * The certificate authority (CA) of a namespace. Its key is generated once, and is in one Secret and nowhere else: not in the status, and not
 * in the log.
 */
import { buildObject, type Client, isAlreadyExists, isNotFound } from 'kopf'
import { Secret } from 'kopf/kubernetes'
import { authoritySecretName, Certificate } from './resource.ts'
import { canSign, createAuthority, type KeyPair } from './x509.ts'

const label = 'example.com/certificate-authority'
const durationMs = 10 * 365 * 86_400_000

export interface Problem {
  readonly reason: string
  readonly message: string
}

export type Authority = ({ readonly type: 'authority' } & KeyPair) | ({ readonly type: 'problem' } & Problem)

/** Reads the CA of a namespace, or creates it if the namespace has none and no certificate was issued in it. */
export async function ensureAuthority(client: Client, namespace: string, nowMs: number): Promise<Authority> {
  const existing = await find(client)
  if (existing !== undefined) return toAuthority(existing)
  const certificates = await client.list(Certificate)
  if (certificates.some(({ status }) => status?.serial !== undefined)) {
    // Clients trust the old CA: another one would break all connections at their next renewal.
    const message = `The Secret "${authoritySecretName}" is missing, and certificates of its authority are in use: restore it from a backup; or delete all Certificates of the namespace and create them again, to start with a new authority`
    return problem('AuthorityMissing', message)
  }
  const pair = await createAuthority(namespace, { nowMs, durationMs })
  try {
    await client.create(buildSecret(pair))
  } catch (error) {
    // The call for another Certificate was faster: its CA is used.
    if (!isAlreadyExists(error)) throw error
  }
  // Only a CA that is stored may sign.
  const stored = await find(client)
  return stored === undefined
    ? problem('AuthorityMissing', `The Secret "${authoritySecretName}" was deleted just now`)
    : toAuthority(stored)
}

function toAuthority({ metadata, data }: Secret): Authority {
  if (metadata?.labels?.[label] !== 'true') {
    const message = `The Secret "${authoritySecretName}" exists and is not a certificate authority of this operator: rename it, or label it with ${label}=true to use it`
    return problem('AuthorityNotOwned', message)
  }
  const pair = readPair(data)
  if (pair === undefined || !canSign(pair)) {
    const message = `The Secret "${authoritySecretName}" needs the certificate of an authority (tls.crt) and its ECDSA key with the curve P-256 (tls.key): restore it from a backup`
    return problem('AuthorityDamaged', message)
  }
  return { type: 'authority', ...pair }
}

function buildSecret({ certPem, keyPem }: KeyPair): Secret {
  return buildObject(Secret, {
    metadata: { name: authoritySecretName, labels: { [label]: 'true' } },
    type: 'kubernetes.io/tls',
    immutable: true,
    data: { 'tls.crt': encode(certPem), 'tls.key': encode(keyPem) },
  })
}

/** The certificate and the key in the data of a Secret. */
export function readPair(data: Secret['data']): KeyPair | undefined {
  const { 'tls.crt': certificate, 'tls.key': key } = data ?? {}
  return certificate === undefined || key === undefined
    ? undefined
    : { certPem: decode(certificate), keyPem: decode(key) }
}

export function encode(text: string): string {
  return Buffer.from(text).toString('base64')
}

function decode(data: string): string {
  return Buffer.from(data, 'base64').toString()
}

function problem(reason: string, message: string): Authority {
  return { type: 'problem', reason, message }
}

async function find(client: Client): Promise<Secret | undefined> {
  try {
    return await client.get(Secret, authoritySecretName)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
