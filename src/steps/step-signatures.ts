/**
 * Signs and verifies step results. Results are stored on the object, which users can edit: a result counts only if this operator has signed it for exactly
 * this object, handler, step, run and spec. Called by step-keys.ts, which loads the keys. Pure.
 */
import { isSameMac, macText } from '../util/text/macs.ts'
import { formatTimestamp } from '../util/text/timestamps.ts'

/** All data that a signature covers. A user could replace a field that is missing here. */
export interface SignedStep {
  /** Included since a change handler and a reconciler may have the same id in two versions of an operator. */
  readonly type: 'change' | 'reconcile'
  readonly group: string
  readonly plural: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** `<handler id>/<step id>`; the handler id includes the ids of its parents. */
  readonly key: string
  readonly isDeletion: boolean
  /** When the run of the handler began. */
  readonly startedMs: number
  /** The digest of the object without its metadata and status: see `digestSpec`. */
  readonly spec: string
  readonly result: string
}

/** The result of a verification: only `valid` results count. */
export type StepVerdict = 'valid' | 'unsigned' | 'unknown-key' | 'mismatch'

interface SigningKey {
  /** A fingerprint of the key, so that a key that replaces another one under the same name has another id. */
  readonly id: string
  readonly bytes: Uint8Array
}

/** Domain separation: keeps these MACs apart from others made with the same key, and from later formats. */
const purpose = 'kopf/step-result/v1'
const idPurpose = 'kopf/step-key-id/v1'

const pattern = /^v1\.([0-9a-f]{16})\.([\w-]{43})$/
const signatureLength = 63

/** Signs with the first key, and verifies with all keys. */
export class StepKeyring {
  readonly #keys: readonly [SigningKey, ...SigningKey[]]

  constructor(keys: readonly [Uint8Array, ...Uint8Array[]]) {
    const [first, ...others] = keys.map((bytes) => ({ id: idOf(bytes), bytes }))
    this.#keys = [first!, ...others]
  }

  sign(step: SignedStep): string {
    const [{ id, bytes }] = this.#keys
    return `v1.${id}.${macText(bytes, encode(step))}`
  }

  verify(step: SignedStep, signature: string | undefined): StepVerdict {
    if (signature === undefined) return 'unsigned'
    const match = signature.length === signatureLength ? pattern.exec(signature) : null
    if (match === null) return 'mismatch'
    const [, id, mac] = match
    const key = this.#keys.find((one) => one.id === id)
    if (key === undefined) return 'unknown-key'
    return isSameMac(mac!, macText(key.bytes, encode(step))) ? 'valid' : 'mismatch'
  }
}

function idOf(key: Uint8Array): string {
  return Buffer.from(macText(key, idPurpose), 'base64url').toString('hex').slice(0, 16)
}

/**
 * Encodes the data as a JSON array: strings are quoted, so that different data never have the same encoding. The start time is encoded as it is stored, in
 * microseconds: another process could not verify the more precise time of a clock.
 */
function encode(step: SignedStep): string {
  const { type, group, plural, namespace, name, uid, key, isDeletion, startedMs, spec, result } = step
  const started = formatTimestamp(startedMs)
  return JSON.stringify([purpose, type, group, plural, namespace, name, uid, key, isDeletion, started, spec, result])
}
