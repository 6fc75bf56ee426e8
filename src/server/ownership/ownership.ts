/** Creates the field management of a resource: one `Ownership` per subresource, created on first use. */
import type { FieldSet } from './field-set.ts'
import type { FieldType } from './field-types.ts'
import type { Ownership, VersionedFields } from './track.ts'

export interface OwnershipOptions {
  readonly apiVersion: string
  readonly type: () => FieldType
  /** The fields that a request to the subresource cannot change and therefore not own; '' is the resource itself. */
  readonly resets: (subresource: string) => FieldSet | undefined
  readonly inVersion?: (apiVersion: string, subresource: string) => VersionedFields | undefined
}

export function createOwnership(options: OwnershipOptions): (subresource: string) => Ownership {
  const made = new Map<string, Ownership>()
  return (subresource) => {
    const known = made.get(subresource)
    if (known !== undefined) return known
    const { apiVersion, type, resets, inVersion } = options
    const ownership: Ownership = {
      apiVersion,
      subresource,
      type: type(),
      resets: resets(subresource),
      inVersion: (other) => inVersion?.(other, subresource),
    }
    made.set(subresource, ownership)
    return ownership
  }
}
