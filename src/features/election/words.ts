/** What is said of the Lease where it cannot be had, or not be kept. */
import { describeError } from '../../core/handling/outcomes.ts'
import { KopfError } from '../../errors.ts'
import { cutText } from '../../util/log-text.ts'
import type { LeaseKey } from './lease-object.ts'

export function forbidden({ name, namespace }: LeaseKey, error: unknown): KopfError {
  return new KopfError(
    'KOPF_FORBIDDEN',
    `Cannot elect a leader by the Lease ${namespace}/${name}: ${describeError(error)}\n` +
      `Grant the operator a role in the namespace "${namespace}" with the rule: apiGroups: ["coordination.k8s.io"], ` +
      'resources: ["leases"], verbs: ["get", "list", "watch", "create", "update"]',
    { cause: error },
  )
}

/** Why it is over, in the words of who finds out. */
export function lost({ name, namespace }: LeaseKey, why: string, cause?: unknown): KopfError {
  return new KopfError(
    'KOPF_LEADERSHIP',
    `Cannot go on as the leader: the Lease ${namespace}/${name} ${why}; nothing more is written, and the operator ends, to be started anew as a stand-by`,
    { cause },
  )
}

const maxHolderLength = 253

/** For messages: the API server sets no limit to the name of a holder. */
export function holderName(holder: string): string {
  return `"${cutText(holder, maxHolderLength)}"`
}
