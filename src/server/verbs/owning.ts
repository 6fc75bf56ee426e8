/** In whose name a request writes, and what that makes of `metadata.managedFields`. For all verbs that write, and controllers. */
import type { KubeObject } from '../../kube/objects.ts'
import type { Call, Parts } from '../call.ts'
import { trackWrite } from '../ownership/track.ts'
import type { ServedResource } from '../resource.ts'
import type { Stored } from '../storage/stored.ts'
import { timestamp } from './write.ts'

/** In whose name the server itself writes, and in whose the controllers that are programs of their own elsewhere. */
export const serverManager = 'kube-apiserver'
export const controllerManager = 'kube-controller-manager'

const maxBytes = 128

/** What the client calls itself, else what its program is called. */
export function managerOf({ query, headers }: Call): string {
  return query.get('fieldManager') || programName(headers['user-agent'] ?? '')
}

function programName(userAgent: string): string {
  const name = userAgent.split('/')[0]!
  if (/^[ -~]{0,128}$/.test(name)) return name
  let kept = ''
  for (const character of name.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '')) {
    if (Buffer.byteLength(kept + character) > maxBytes) break
    kept += character
  }
  return kept
}

export function ownCreation(parts: Parts, resource: ServedResource, object: KubeObject, manager: string): void {
  const { fields } = resource
  if (fields === undefined) return
  trackWrite(fields.ownership(''), { old: fields.blank, object, manager, now: timestamp(parts) })
}

export interface Change {
  readonly current: Stored
  readonly old: KubeObject
  readonly object: KubeObject
}

export function ownUpdate(
  parts: Parts,
  resource: ServedResource,
  { current, old, object }: Change,
  { manager, subresource }: { readonly manager: string; readonly subresource: string },
): void {
  const { fields } = resource
  if (fields === undefined) return
  const write = { old, object, manager, now: timestamp(parts) }
  trackWrite(fields.ownership(subresource), write, { isForeign: current.rules !== resource })
}
