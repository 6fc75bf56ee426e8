/** The label of a resource in all series: `databases.example.com`; `pods` for the core group. Without the version, so that series outlive its change. */
import type { Resource } from '../kube/resources/resources.ts'

/** The events of a run have the same few resources, so that most labels need no new text. */
const labels = new WeakMap<object, string>()

export function resourceLabel(resource: Pick<Resource, 'plural' | 'group'>): string {
  const known = labels.get(resource)
  if (known !== undefined) return known
  const { plural, group } = resource
  const label = group === '' ? plural : `${plural}.${group}`
  labels.set(resource, label)
  return label
}
