/**
 * The columns of built-in kinds: kube-apiserver's headers (headers.generated.ts) joined with our cells by name. Called by builtins/
 * for each kind. Kinds without a table in kube-apiserver show their creation time.
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

/** The columns of roles, limit ranges, CRDs and a few more. */
export const defaultColumns: readonly Column[] = [
  nameColumn,
  {
    name: 'Created At',
    type: 'date',
    format: '',
    description: descriptions.creationTimestamp,
    priority: 0,
    // An object without a timestamp shows Go's zero time.
    cell: (object) => object.metadata.creationTimestamp ?? '0001-01-01T00:00:00Z',
  },
]

/** `autoscaling/scale` is the subresource. */
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

/** The aggregator of kube-apiserver has its own table. */
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
