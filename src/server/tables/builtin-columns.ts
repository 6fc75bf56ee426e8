/**
 * The columns of built-in kinds: the headers of the real server (headers.generated.ts) over our cells, joined by name.
 * Called by builtins/ for each kind it serves. Kinds that the real server has no table for show when they were created.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { Column } from '../resource.ts'
import { at, type Cells, listAt, readAge, type TableCells, textAt } from './cells.ts'
import { clusterCells } from './cluster-cells.ts'
import { nameColumn } from './columns.ts'
import { coreCells, eventCells } from './core-cells.ts'
import { descriptions, headers } from './headers.generated.ts'
import { networkCells } from './network-cells.ts'
import { podCells } from './pod-cells.ts'
import { workloadCells } from './workload-cells.ts'

const tables: TableCells = {
  ...podCells,
  ...coreCells,
  ...eventCells,
  ...workloadCells,
  ...networkCells,
  ...clusterCells,
}

/** Those of roles, limit ranges, CRDs and a few more. */
export const defaultColumns: readonly Column[] = [
  nameColumn,
  {
    name: 'Created At',
    type: 'date',
    format: '',
    description: descriptions.creationTimestamp,
    priority: 0,
    // Go's zero time is what an object without a timestamp was created at.
    cell: (object) => object.metadata.creationTimestamp ?? '0001-01-01T00:00:00Z',
  },
]

/** `scale` of the group autoscaling is the subresource. */
export function builtinColumns(group: string, plural: string): readonly Column[] {
  const resource = `${group}/${plural}`
  if (resource === 'apiregistration.k8s.io/apiservices') return apiServiceColumns
  if (!Object.hasOwn(headers, resource)) return defaultColumns
  const cells: Cells = { Name: nameColumn.cell, Age: readAge, ...tables[resource] }
  return headers[resource]!.map((header) => ({ ...header, cell: cells[header.name]! }))
}

function column(name: string, description: string, cell: Column['cell']): Column {
  return { name, type: 'string', format: '', description, priority: 0, cell }
}

/** The aggregator has tables of its own making. */
const apiServiceColumns: readonly Column[] = [
  nameColumn,
  column('Service', 'The reference to the service that hosts this API endpoint.', (object) => {
    const service = at(object, 'spec.service')
    return service === undefined ? 'Local' : `${textAt(service, 'namespace')}/${textAt(service, 'name')}`
  }),
  column('Available', 'Whether this service is available.', availability),
  column('Age', descriptions.creationTimestamp, readAge),
]

function availability(object: KubeObject): string {
  const available = listAt(object, 'status.conditions').find((condition) => textAt(condition, 'type') === 'Available')
  if (available === undefined) return 'Unknown'
  const [status, reason] = [textAt(available, 'status'), textAt(available, 'reason')]
  return status === 'True' || reason === '' ? status : `${status} (${reason})`
}
