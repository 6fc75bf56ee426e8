/** One difference between two CRDs, with its severity and the reason. Created by compare-crds.ts and compare-schemas.ts, printed by `kopf crd --check`. */
import type { Json } from '../../../util/json/json.ts'

/**
 * `breaking`: objects or clients that worked before are refused, lose data, or get other values. `compatible`: everything that worked before
 * works as before.
 */
export type Severity = 'breaking' | 'compatible'

export interface Judgement {
  readonly severity: Severity
  /** What the difference means for objects and clients: a part of a sentence. */
  readonly reason: string
}

export interface CrdDifference extends Judgement {
  /** The version of the CRD; undefined for a difference of the whole CRD. */
  readonly version: string | undefined
  /** The field of the objects (`spec.hosts[*].port`), or the field of the CRD (`spec.scope`). Empty for the CRD, the version or the root of the schema itself. */
  readonly path: string
  /** The property of the field that differs: `minimum`, `type`, `required`; or `field`, `version`, `crd` for the thing itself, which is added or removed. */
  readonly property: string
  /** The value before; undefined if there was none, and for a thing that is added or removed. */
  readonly before?: Json | undefined
  readonly after?: Json | undefined
  /** Set if the thing itself is added or removed. */
  readonly change?: 'added' | 'removed'
}

export function breaking(reason: string): Judgement {
  return { severity: 'breaking', reason }
}

export function compatible(reason: string): Judgement {
  return { severity: 'compatible', reason }
}
