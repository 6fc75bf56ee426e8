/** `settings.election` as the elector needs it; and, where it cannot be so, what to do about it. */

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

/** What the operator is called, and where it runs, as far as known. */
interface LeaseDefaults {
  readonly name: string | undefined
  readonly namespace: string | undefined
}

/** As in client-go: attempts are spread by a fifth, and at least two have to fit. */
const minAttempts = 1.2

export function toElectionOptions(settings: ElectionSettings, whereabouts: LeaseDefaults): ElectionOptions {
  const election = {
    key: toKey(settings, whereabouts),
    leaseDurationMs: toMs(settings.leaseDuration),
    renewDeadlineMs: toMs(settings.renewDeadline),
    retryPeriodMs: toMs(settings.retryPeriod),
  }
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = election
  if (renewDeadlineMs >= leaseDurationMs) {
    throwElectionError(
      `"renewDeadline" (${settings.renewDeadline}) has to be shorter than "leaseDuration" (${settings.leaseDuration}), or a leader would go on while the next one begins`,
    )
  }
  if (retryPeriodMs <= 0 || retryPeriodMs * minAttempts >= renewDeadlineMs) {
    throwElectionError(
      `"retryPeriod" (${settings.retryPeriod}) has to be more than 0, and well below "renewDeadline" (${settings.renewDeadline}), or one failed renewal would be the end`,
    )
  }
  return election
}

function toKey(settings: ElectionSettings, whereabouts: LeaseDefaults): LeaseKey {
  const name = settings.name ?? whereabouts.name
  if (name === undefined) {
    throwElectionError(
      'the Lease has no name; set "settings.election.name", or name the operator: `new Operator({ name })`',
    )
  }
  if (objectName.accept(name) === undefined) {
    throwElectionError(`"${name}", the name of the operator, cannot be that of a Lease; set "settings.election.name"`)
  }
  const namespace = settings.namespace ?? whereabouts.namespace
  if (namespace === undefined) {
    throwElectionError('it is not known in which namespace the operator runs; set "settings.election.namespace"')
  }
  return { name, namespace }
}

function throwElectionError(why: string): never {
  throw new KopfError('KOPF_ELECTION', `Cannot elect a leader: ${why}`)
}
