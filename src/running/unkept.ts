/** Objects that do not keep what we store on them: we remember it in their place, and say so once. Called by changes.ts. */
import type { Essence } from '../core/causation/causes.ts'
import { isStored } from '../core/handling/compare.ts'
import type { KubeObject } from '../kube/objects.ts'
import { toLazy } from '../util/lazy-json.ts'
import type { Memory } from './memories.ts'
import type { Runtime } from './runtime.ts'

export function warnOfProgress({ warnOnce }: Runtime, { served }: Memory): void {
  warnOnce(
    served.resource,
    'unkept',
    'The progress of handlers does not stay on the object: it is remembered only until the operator restarts; ' +
      'let the schema preserve unknown fields where it is stored, or use another progress storage',
  )
}

/** Objects whose schema drops what we store would be handled for ever: then we remember it for them. */
export function checkStored({ settings, warnOnce }: Runtime, memory: Memory, body: KubeObject, handled: Essence): void {
  const isKept = isStored(settings, body, handled)
  memory.unstored = isKept ? undefined : toLazy(handled)
  if (isKept) return
  warnOnce(
    memory.served.resource,
    'unstored',
    'The last handled configuration does not stay on the object: it is remembered only until the operator restarts; ' +
      'let the schema preserve unknown fields where it is stored, or use another diff-base storage',
  )
}
