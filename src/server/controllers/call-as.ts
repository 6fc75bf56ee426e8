/** A request that a controller makes as if it were a client: webhooks are told that it is its service account. */

import type { Call, Parts } from '../call.ts'
import type { User } from '../identity/authentication.ts'
import type { ServedResource } from '../resource.ts'

export const noQuery: URLSearchParams = new URLSearchParams()

interface Target {
  readonly namespace: string
  readonly name: string
  readonly subresource?: string
}

export function callAs(parts: Parts, user: User, resource: ServedResource, target: Target): Call {
  const { group, version, plural } = resource
  const { namespace, name, subresource = '' } = target
  return {
    ...parts,
    resource,
    path: { group, version, plural, namespace, name, subresource, isWatchPath: false },
    query: noQuery,
    headers: {},
    body: '',
    sent: '',
    user,
    warnings: [],
    signal: parts.closing,
    readAt: undefined,
  }
}

export function serviceAccount(name: string): User {
  return {
    username: `system:serviceaccount:kube-system:${name}`,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
  }
}
