/**
 * Objects and diffs in words, for debug logs. Only where something has changed is said, never the values: people put passwords into
 * custom resources and ConfigMaps, and logs are read by more people than those who may read the objects.
 */
import type { Diff, DiffItem } from '../core/causation/causes.ts'
import type { KubeObject } from '../kube/objects.ts'
import { cutText } from '../util/log-text.ts'

const maxItems = 20
const maxDepth = 20
const maxLength = 200

/** Which state of the object it is: `generation 2, resourceVersion 1043`. */
export function describeState({ metadata }: KubeObject): string {
  const { generation, resourceVersion } = metadata
  const counted = generation === undefined ? [] : [`generation ${generation}`]
  return [...counted, `resourceVersion ${resourceVersion ?? 'unknown'}`].join(', ')
}

/** What was done to which fields: `change spec.replicas, add spec.paused`. */
export function describeDiff(diff: Diff): string {
  const items = diff.slice(0, maxItems).map(describeItem)
  const more = diff.length - items.length
  return more > 0 ? `${items.join(', ')} and ${more} more` : items.join(', ')
}

function describeItem([operation, field]: DiffItem): string {
  const path = field.slice(0, maxDepth).join('.') || 'the whole object'
  return `${operation} ${cutText(path, maxLength)}${field.length > maxDepth ? '.…' : ''}`
}
