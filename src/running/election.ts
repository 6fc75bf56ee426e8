/** `settings.election` as the elector needs it; and, where it cannot be so, what to do about it. */
import { objectName } from '../core/settings-checks.ts'
import type { ElectionSettings } from '../core/settings-groups.ts'
import { KopfError } from '../errors.ts'
import type { LeaseKey } from '../features/election/lease-object.ts'
import { toMs } from '../util/duration.ts'

export interface Election {
  readonly key: LeaseKey
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
}

/** What the operator is called, and where it runs, as far as known. */
interface Whereabouts {
  readonly name: string | undefined
  readonly namespace: string | undefined
}

/** As in client-go: attempts are spread by a fifth, and at least two have to fit. */
const leastAttempts = 1.2

export function toElection(settings: ElectionSettings, whereabouts: Whereabouts): Election {
  const election = {
    key: toKey(settings, whereabouts),
    leaseDurationMs: toMs(settings.leaseDuration),
    renewDeadlineMs: toMs(settings.renewDeadline),
    retryPeriodMs: toMs(settings.retryPeriod),
  }
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = election
  if (renewDeadlineMs >= leaseDurationMs) {
    refuse(
      `"renewDeadline" (${settings.renewDeadline}) has to be shorter than "leaseDuration" (${settings.leaseDuration}), or a leader would go on while the next one begins`,
    )
  }
  if (retryPeriodMs <= 0 || retryPeriodMs * leastAttempts >= renewDeadlineMs) {
    refuse(
      `"retryPeriod" (${settings.retryPeriod}) has to be more than 0, and well below "renewDeadline" (${settings.renewDeadline}), or one failed renewal would be the end`,
    )
  }
  return election
}

function toKey(settings: ElectionSettings, whereabouts: Whereabouts): LeaseKey {
  const name = settings.name ?? whereabouts.name
  if (name === undefined) {
    refuse('the Lease has no name; set "settings.election.name", or name the operator: `new Operator({ name })`')
  }
  if (objectName.accept(name) === undefined) {
    refuse(`"${name}", the name of the operator, cannot be that of a Lease; set "settings.election.name"`)
  }
  const namespace = settings.namespace ?? whereabouts.namespace
  if (namespace === undefined) {
    refuse('it is not known in which namespace the operator runs; set "settings.election.namespace"')
  }
  return { name, namespace }
}

function refuse(why: string): never {
  throw new KopfError('KOPF_ELECTION', `Cannot elect a leader: ${why}`)
}
