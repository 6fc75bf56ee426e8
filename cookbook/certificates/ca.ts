/**
 * The certificate authority (CA) of a namespace. Its key is generated once, and is in one Secret and nowhere else: not in the status, and not
 * in the log.
 */
import { buildObject, type Client, isAlreadyExists, isNotFound } from 'kopf'
import { Secret } from 'kopf/kubernetes'
import { Certificate, caSecretName } from './resource.ts'
import { canSign, createCa, type KeyPair } from './x509.ts'

const label = 'example.com/ca'
const durationMs = 10 * 365 * 86_400_000

export interface Problem {
  readonly reason: string
  readonly message: string
}

export type Ca = ({ readonly type: 'ca' } & KeyPair) | ({ readonly type: 'problem' } & Problem)

/** Reads the CA of a namespace, or creates it if the namespace has none and no certificate was issued in it. */
export async function ensureCa(client: Client, namespace: string, nowMs: number): Promise<Ca> {
  const existing = await find(client)
  if (existing !== undefined) return toCa(existing)
  const certificates = await client.list(Certificate)
  if (certificates.some(({ status }) => status?.serial !== undefined)) {
    // Clients trust the old CA: another one would break all connections at their next renewal.
    const message = `The Secret "${caSecretName}" is missing, and certificates of its CA are in use: restore it from a backup; or delete all Certificates of the namespace and create them again, to start with a new CA`
    return problem('CAMissing', message)
  }
  const pair = await createCa(namespace, { nowMs, durationMs })
  try {
    await client.create(buildSecret(pair))
  } catch (error) {
    // The call for another Certificate was faster: its CA is used.
    if (!isAlreadyExists(error)) throw error
  }
  // Only a CA that is stored may sign.
  const stored = await find(client)
  return stored === undefined ? problem('CAMissing', `The Secret "${caSecretName}" was deleted just now`) : toCa(stored)
}

function toCa({ metadata, data }: Secret): Ca {
  if (metadata?.labels?.[label] !== 'true') {
    const message = `The Secret "${caSecretName}" exists and is not a CA of this operator: rename it, or label it with ${label}=true to use it`
    return problem('CANotOwned', message)
  }
  const pair = readPair(data)
  if (pair === undefined || !canSign(pair)) {
    const message = `The Secret "${caSecretName}" needs the certificate of a CA (tls.crt) and its ECDSA key with the curve P-256 (tls.key): restore it from a backup`
    return problem('CADamaged', message)
  }
  return { type: 'ca', ...pair }
}

function buildSecret({ certPem, keyPem }: KeyPair): Secret {
  return buildObject(Secret, {
    metadata: { name: caSecretName, labels: { [label]: 'true' } },
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

function problem(reason: string, message: string): Ca {
  return { type: 'problem', reason, message }
}

async function find(client: Client): Promise<Secret | undefined> {
  try {
    return await client.get(Secret, caSecretName)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
