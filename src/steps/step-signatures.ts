/**
 * Signatures of step results. Results are stored on the object, where its author can write; a result counts only if this operator
 * has signed it for exactly this object, handler, step, run and spec. Pure; the keys come from steps/step-keys.ts.
 */
import { isSameMac, macText } from '../util/text/macs.ts'
import { formatTimestamp } from '../util/text/timestamps.ts'

/** Everything that a signature binds. A field that is missing here could be exchanged by the author of the object. */
export interface StepClaim {
  /** A change handler and a reconciler may have the same id in two versions of an operator. */
  readonly type: 'change' | 'reconcile'
  readonly group: string
  readonly plural: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** The id of the handler, with those of its parents, and that of the step behind the last slash. */
  readonly key: string
  readonly isDeletion: boolean
  /** When the run of the handler began. */
  readonly startedMs: number
  /** The digest of what the author asks for: see `digestSpec`. */
  readonly spec: string
  readonly result: string
}

/** Why a result counts or does not. */
export type StepVerdict = 'valid' | 'unsigned' | 'unknown-key' | 'mismatch'

interface SigningKey {
  /** A fingerprint, so that a key which replaces another under the same name is not taken for it. */
  readonly id: string
  readonly bytes: Uint8Array
}

/** Separates these codes from any others that might be made with the same key, and from later formats. */
const purpose = 'kopf/step-result/v1'
const idPurpose = 'kopf/step-key-id/v1'

const pattern = /^v1\.([0-9a-f]{16})\.([\w-]{43})$/
const signatureLength = 63

/** The first key signs, all of them verify. */
export class StepKeyring {
  readonly #keys: readonly [SigningKey, ...SigningKey[]]

  constructor(keys: readonly [Uint8Array, ...Uint8Array[]]) {
    const [first, ...others] = keys.map((bytes) => ({ id: idOf(bytes), bytes }))
    this.#keys = [first!, ...others]
  }

  sign(claim: StepClaim): string {
    const [{ id, bytes }] = this.#keys
    return `v1.${id}.${macText(bytes, encode(claim))}`
  }

  verify(claim: StepClaim, signature: string | undefined): StepVerdict {
    if (signature === undefined) return 'unsigned'
    const match = signature.length === signatureLength ? pattern.exec(signature) : null
    if (match === null) return 'mismatch'
    const [, id, mac] = match
    const key = this.#keys.find((one) => one.id === id)
    if (key === undefined) return 'unknown-key'
    return isSameMac(mac!, macText(key.bytes, encode(claim))) ? 'valid' : 'mismatch'
  }
}

function idOf(key: Uint8Array): string {
  return Buffer.from(macText(key, idPurpose), 'base64url').toString('hex').slice(0, 16)
}

/**
 * A JSON array: strings are quoted in it, so that no two claims have one encoding. The start is encoded as it is stored, in microseconds:
 * a clock may be more precise, and another process could not verify that.
 */
function encode(claim: StepClaim): string {
  const { type, group, plural, namespace, name, uid, key, isDeletion, startedMs, spec, result } = claim
  const started = formatTimestamp(startedMs)
  return JSON.stringify([purpose, type, group, plural, namespace, name, uid, key, isDeletion, started, spec, result])
}
