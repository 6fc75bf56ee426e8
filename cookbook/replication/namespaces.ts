/** Finds the namespaces that get a copy. */
import type { Client } from 'kopf'
import type { ReplicationSpec } from './replication.ts'

/**
 * Lists the namespaces on the server rather than from an index: a namespace that has just triggered the reconciler may be missing in an index
 * for a moment. Namespaces that are being deleted accept no new objects.
 */
export async function listTargets(client: Client, { source, namespaceSelector }: ReplicationSpec): Promise<string[]> {
  const namespaces = await client.list('namespaces', { labelSelector: toLabelSelector(namespaceSelector) })
  return namespaces
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined && metadata.name !== source.namespace)
    .map(({ metadata }) => metadata.name)
}

/** The selector in the form of a query: `team=a,stage in (dev,test),!private`. An empty selector matches everything. */
export function toLabelSelector({
  matchLabels = {},
  matchExpressions = [],
}: ReplicationSpec['namespaceSelector']): string {
  const equalities = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key
    if (operator === 'DoesNotExist') return `!${key}`
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`
  })
  return [...equalities, ...expressions].join(',')
}
