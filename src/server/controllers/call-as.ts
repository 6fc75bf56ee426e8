/** Builds the Call of a write by a controller. Webhooks see the controller's service account as the user. */

import type { ResourceCall, ServerContext } from '../call.ts'
import type { User } from '../identity/authentication.ts'
import type { ApiResource } from '../resource.ts'

export const noQuery: URLSearchParams = new URLSearchParams()

interface ControllerCallTarget {
  readonly namespace: string
  readonly name: string
  readonly subresource?: string
}

export function callAs(
  parts: ServerContext,
  user: User,
  resource: ApiResource,
  target: ControllerCallTarget,
): ResourceCall {
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
