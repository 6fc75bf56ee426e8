/** Checks whether the claims of a pod are bound, with the scheduler's messages. */
import type { ServerContext } from '../../call.ts'
import { find } from './reading.ts'
import type { Pod } from './shapes.ts'
import type { PersistentVolumeClaim } from './volume-shapes.ts'

/** Why the pod cannot be scheduled; undefined if all its claims are bound. */
export function unboundClaimReason(parts: ServerContext, { spec, metadata }: Pod): string | undefined {
  const names = (spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])
  for (const name of names) {
    const claim = find<PersistentVolumeClaim>(parts, 'persistentvolumeclaims', metadata.namespace!, name)
    if (claim === undefined) return `persistentvolumeclaim "${name}" not found`
    if (claim.status.phase !== 'Bound') return 'pod has unbound immediate PersistentVolumeClaims'
  }
  return undefined
}
