/**
 * When certificates are renewed, and in which steps, so that at every moment the API server trusts what is served. A pure
 * function of what the Secret holds and of the time: whoever is stopped between two steps, another one goes on from there.
 *
 * 1. `add`: a new authority is trusted, beside the old one, and will sign from now on. What is served stays.
 * 2. `sign`: a certificate of the signer is served; a new authority signs only when all had time to hear of it.
 * 3. `drop`: the old authority is not trusted any more, when all had time to stop serving what it has signed.
 */
import { randomBytes } from 'node:crypto'
import { CertificateAuthority } from '../../util/certificates.ts'
import type { Keyring } from './keyring.ts'

/**
 * For operators to tell the API server, for all API servers to hear of it, and for other replicas to follow. Counted from
 * the time in a certificate, which another replica may have written: an hour is 50 minutes at least, though one clock be
 * five minutes slow and the other five minutes fast.
 */
export const overlapMs = 3_600_000

/** Better a new certificate that some do not trust yet than one that has expired, by whoever's clock. */
const safetyMarginMs = 15 * 60_000

export type RotationStep = 'add' | 'sign' | 'drop'

export interface RotationPlan {
  readonly step: RotationStep
  /** In the past for what is overdue; `Infinity` where nothing is to be done. */
  readonly atMs: number
}

/** What is to be done next, and when. */
export function planRotation(keyring: Keyring): RotationPlan {
  const plans: RotationPlan[] = [
    { step: 'add', atMs: whenToAdd(keyring) },
    { step: 'sign', atMs: whenToSign(keyring) },
    { step: 'drop', atMs: whenToDrop(keyring) },
  ]
  // Of what is overdue, too, the earlier step goes first: a new authority is there before something is signed again.
  return plans.reduce((first, other) => (other.atMs < first.atMs ? other : first))
}

function whenToAdd({ signer }: Keyring): number {
  return signer === undefined ? -Infinity : renewalTime(signer)
}

function whenToSign({ signer, serving }: Keyring): number {
  if (signer === undefined) return Infinity
  if (serving === undefined) return -Infinity
  if (serving.issuerPem === signer.certPem) return renewalTime(serving)
  return Math.min(signer.issuedMs + overlapMs, serving.expiresMs - safetyMarginMs)
}

function whenToDrop({ authorities, signer, serving }: Keyring): number {
  if (authorities.length < 2 || serving === undefined || serving.issuerPem !== signer?.certPem) return Infinity
  return serving.issuedMs + overlapMs
}

/** With a third of its life left. */
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

export interface Rotated {
  readonly keyring: Keyring
  /** What was done; empty where nothing is due. */
  readonly steps: readonly RotationStep[]
}

/** Does all that is due: mostly nothing or one step, and with nothing to begin with, all that is needed to serve. */
export async function rotate(keyring: Keyring, options: RotationOptions): Promise<Rotated> {
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
    // Two authorities of one name would be mistaken for each other.
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
