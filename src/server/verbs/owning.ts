/** Determines the field manager of a request and updates `metadata.managedFields`. For all writing verbs and for controllers. */
import type { KubeObject } from '../../kube/objects.ts'
import type { ResourceCall, ServerContext } from '../call.ts'
import { trackWrite } from '../ownership/track.ts'
import type { ApiResource } from '../resource.ts'
import type { Stored } from '../storage/stored.ts'
import { timestamp } from './write.ts'

/** The field managers of the server itself, and of controllers that are part of kube-controller-manager in a cluster. */
export const serverManager = 'kube-apiserver'
export const controllerManager = 'kube-controller-manager'

const maxBytes = 128

/** The query parameter `fieldManager`, else the program name of the user agent. */
export function managerOf({ query, headers }: ResourceCall): string {
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

export function ownCreation(parts: ServerContext, resource: ApiResource, object: KubeObject, manager: string): void {
  const { fields } = resource
  if (fields === undefined) return
  trackWrite(fields.ownership(''), { old: fields.blank, object, manager, now: timestamp(parts) })
}

/** The new state of an object in the version of the resource, with the states it is based on. */
export interface PendingUpdate {
  readonly current: Stored
  readonly old: KubeObject
  readonly object: KubeObject
}

export function ownUpdate(
  parts: ServerContext,
  resource: ApiResource,
  { current, old, object }: PendingUpdate,
  { manager, subresource }: { readonly manager: string; readonly subresource: string },
): void {
  const { fields } = resource
  if (fields === undefined) return
  const write = { old, object, manager, now: timestamp(parts) }
  trackWrite(fields.ownership(subresource), write, { isForeign: current.rules !== resource })
}
