/**
 * Plans and runs the rotation of the certificates in a Secret, so that the API server trusts the served certificate at every moment. Called by
 * shared-secret.ts. The plan depends only on the content of the Secret and on the time, so that any replica can continue the rotation of another.
 *
 * 1. `add`: a new CA is created and trusted in addition to the old one. The served certificate stays.
 * 2. `sign`: the new CA signs a new server certificate, after all API servers had time to learn about the new CA.
 * 3. `drop`: the old CA is removed, after all replicas had time to stop serving the certificate that it has signed.
 */
import { randomBytes } from 'node:crypto'
import { CertificateAuthority } from '../../util/certificates.ts'
import type { Keyring } from './keyring.ts'

/**
 * The time between two steps, for the operator to update the webhook configurations, for all API servers to see that, and for all replicas to follow.
 * It counts from the time in a certificate, which another replica may have written with another clock: even if the two clocks differ by ten minutes, at
 * least 50 minutes pass.
 */
export const overlapMs = 3_600_000

/** A new certificate is served this long before the old one expires, even if not all API servers trust it yet: an expired one would fail everywhere. */
const safetyMarginMs = 15 * 60_000

export type RotationStep = 'add' | 'sign' | 'drop'

export interface RotationPlan {
  readonly step: RotationStep
  /** When the step is due; in the past for an overdue step, `Infinity` for a step that is not needed. */
  readonly atMs: number
}

/** The next step, and when it is due. */
export function planRotation(keyring: Keyring): RotationPlan {
  const plans: RotationPlan[] = [
    { step: 'add', atMs: addTime(keyring) },
    { step: 'sign', atMs: signTime(keyring) },
    { step: 'drop', atMs: dropTime(keyring) },
  ]
  // The earliest step runs first, also of several overdue ones; with equal times, `add` comes before `sign`, so that the new CA signs.
  return plans.reduce((first, other) => (other.atMs < first.atMs ? other : first))
}

function addTime({ signer }: Keyring): number {
  return signer === undefined ? -Infinity : renewalTime(signer)
}

function signTime({ signer, serving }: Keyring): number {
  if (signer === undefined) return Infinity
  if (serving === undefined) return -Infinity
  if (serving.issuerPem === signer.certPem) return renewalTime(serving)
  return Math.min(signer.issuedMs + overlapMs, serving.expiresMs - safetyMarginMs)
}

function dropTime({ authorities, signer, serving }: Keyring): number {
  if (authorities.length < 2 || serving === undefined || serving.issuerPem !== signer?.certPem) return Infinity
  return serving.issuedMs + overlapMs
}

/** The time at which a third of the validity is left. */
function renewalTime({ issuedMs, expiresMs }: { readonly issuedMs: number; readonly expiresMs: number }): number {
  return expiresMs - (expiresMs - issuedMs) / 3
}

export interface RotationOptions {
  readonly nowMs: number
  readonly hosts: readonly string[]
  readonly commonName: string
  readonly caLifetimeMs: number
  readonly certLifetimeMs: number
}

export interface RotationResult {
  readonly keyring: Keyring
  /** The steps that were run; empty if none was due. */
  readonly steps: readonly RotationStep[]
}

/** Runs all due steps: usually none or one; for an empty keyring, `add` and `sign`. */
export async function rotate(keyring: Keyring, options: RotationOptions): Promise<RotationResult> {
  const steps: RotationStep[] = []
  let current = keyring
  for (let plan = planRotation(current); plan.atMs <= options.nowMs; plan = planRotation(current)) {
    current = await runStep[plan.step](current, options)
    steps.push(plan.step)
  }
  return { keyring: current, steps }
}

const runStep: Readonly<Record<RotationStep, (keyring: Keyring, options: RotationOptions) => Promise<Keyring>>> = {
  async add(keyring, { nowMs, caLifetimeMs: lifetimeMs }) {
    // TLS clients find the CA of a certificate by name, so two CAs must not have the same name.
    const name = `kopf webhooks ${randomBytes(8).toString('hex')}`
    const { certPem, keyPem } = await (await CertificateAuthority.create(name, { nowMs, lifetimeMs })).exportPair()
    const authority = { certPem, issuedMs: nowMs, expiresMs: nowMs + lifetimeMs }
    return { ...keyring, authorities: [...keyring.authorities, authority], signer: { ...authority, keyPem } }
  },

  async sign(keyring, { nowMs, hosts, commonName, certLifetimeMs }) {
    const signer = keyring.signer!
    const lifetimeMs = Math.min(certLifetimeMs, signer.expiresMs - nowMs)
    const authority = await CertificateAuthority.load(signer)
    const pair = await authority.issue({ commonName, hosts, nowMs, lifetimeMs })
    return {
      ...keyring,
      serving: { ...pair, issuedMs: nowMs, expiresMs: nowMs + lifetimeMs, issuerPem: signer.certPem },
    }
  },

  async drop(keyring) {
    return { ...keyring, authorities: keyring.authorities.filter(({ certPem }) => certPem === keyring.signer?.certPem) }
  },
}
