/** Whether the claims that a pod names are bound, in the words of a scheduler. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { Parts } from '../../call.ts'
import { find } from './reading.ts'
import type { Pod } from './shapes.ts'

/** Why the pod has to wait; undefined where it need not. */
export function unboundClaim(parts: Parts, { spec, metadata }: Pod): string | undefined {
  const names = (spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])
  for (const name of names) {
    const claim = find<Claim>(parts, 'persistentvolumeclaims', metadata.namespace!, name)
    if (claim === undefined) return `persistentvolumeclaim "${name}" not found`
    if (claim.status?.phase !== 'Bound') return 'pod has unbound immediate PersistentVolumeClaims'
  }
  return undefined
}

interface Claim extends KubeObject {
  status?: { readonly phase?: string }
}
