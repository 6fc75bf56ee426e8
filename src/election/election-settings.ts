/** Checks `settings.election` and converts it for the elector. Called by leadership.ts after the startup handlers. Pure. */

import { KopfError } from '../errors.ts'
import { objectName } from '../settings/checks.ts'
import type { ElectionSettings } from '../settings/groups.ts'
import { toMs } from '../util/text/duration.ts'
import type { LeaseKey } from './lease.ts'

export interface ElectionOptions {
  readonly key: LeaseKey
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
}

/** The name of the operator and the namespace in which it runs: the defaults for the name and the namespace of the Lease. */
interface LeaseDefaults {
  readonly name: string | undefined
  readonly namespace: string | undefined
}

/** client-go's jitter factor: one retry period with its jitter must be shorter than the renew deadline. */
const retryJitterFactor = 1.2

export function toElectionOptions(settings: ElectionSettings, defaults: LeaseDefaults): ElectionOptions {
  const election = {
    key: toKey(settings, defaults),
    leaseDurationMs: toMs(settings.leaseDuration),
    renewDeadlineMs: toMs(settings.renewDeadline),
    retryPeriodMs: toMs(settings.retryPeriod),
  }
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = election
  if (renewDeadlineMs >= leaseDurationMs) {
    throwElectionError(
      `"renewDeadline" (${settings.renewDeadline}) has to be shorter than "leaseDuration" (${settings.leaseDuration}), or two replicas could lead at once`,
    )
  }
  if (retryPeriodMs <= 0 || retryPeriodMs * retryJitterFactor >= renewDeadlineMs) {
    throwElectionError(
      `"retryPeriod" (${settings.retryPeriod}) has to be more than 0, and well below "renewDeadline" (${settings.renewDeadline}), or one failed renewal would end the leadership`,
    )
  }
  return election
}

function toKey(settings: ElectionSettings, defaults: LeaseDefaults): LeaseKey {
  const name = settings.name ?? defaults.name
  if (name === undefined) {
    throwElectionError(
      'the Lease has no name; set "settings.election.name", or name the operator: `new Operator({ name })`',
    )
  }
  if (objectName.accept(name) === undefined) {
    throwElectionError(
      `"${name}", the name of the operator, is not a valid name of a Lease; set "settings.election.name"`,
    )
  }
  const namespace = settings.namespace ?? defaults.namespace
  if (namespace === undefined) {
    throwElectionError('the namespace of the operator is not known; set "settings.election.namespace"')
  }
  return { name, namespace }
}

function throwElectionError(why: string): never {
  throw new KopfError('KOPF_ELECTION', `Cannot elect a leader: ${why}`)
}
