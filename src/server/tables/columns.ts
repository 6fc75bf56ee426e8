/**
 * The columns of custom resources: the name, then the `additionalPrinterColumns` of the CRD, or the age. Called by crds/ when a CRD is
 * served. Cells are formatted like in apiextensions' tableconvertor.
 */

import type { KubeObject } from '../../kube/objects.ts'
import type { Json } from '../../util/json/json.ts'
import type { Column } from '../resource.ts'
import type { CellValue } from './cells.ts'
import { formatAge } from './duration.ts'
import { formatGoValue } from './go-format.ts'
import { descriptions } from './headers.generated.ts'
import { compileJsonPath } from './jsonpath.ts'
import { JsonPathError } from './jsonpath-parser.ts'

/** An entry of `additionalPrinterColumns`. */
export interface ColumnDefinition {
  readonly name: string
  readonly type: string
  readonly format?: string
  readonly description?: string
  readonly priority?: number
  readonly jsonPath: string
}

export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: descriptions.name,
  priority: 0,
  cell: (object) => object.metadata.name ?? '',
}

/** Throws a JsonPathError for an invalid path. */
export function compileColumn(definition: ColumnDefinition): Column {
  const find = compileJsonPath(definition.jsonPath)
  return {
    name: definition.name,
    type: definition.type,
    format: definition.format ?? '',
    description:
      definition.description || `Custom resource definition column (in JSONPath format): ${definition.jsonPath}`,
    priority: definition.priority ?? 0,
    cell(object: KubeObject, now: Date): CellValue {
      const values = find(object)
      // If a path selects several values, the first is shown.
      return values.length === 0 ? null : toCell(definition.type, values[0]!, now)
    },
  }
}

export const ageColumn: Column = compileColumn({
  name: 'Age',
  type: 'date',
  description: descriptions.creationTimestamp,
  jsonPath: '.metadata.creationTimestamp',
})

/** All columns of a CRD version. Like in kube-apiserver, the first column with an invalid path and all after it are left out. */
export function compileColumns(definitions: readonly ColumnDefinition[]): readonly Column[] {
  if (definitions.length === 0) return [nameColumn, ageColumn]
  const columns = [nameColumn]
  try {
    for (const definition of definitions) columns.push(compileColumn(definition))
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error
  }
  return columns
}

/** Values of another type than the column's are not shown, except in string columns, which show any value. */
function toCell(type: string, value: Json, now: Date): CellValue {
  if (type === 'string') return formatGoValue(value)
  if (type === 'integer' && typeof value === 'number') return Math.trunc(value)
  if (type === 'number' && typeof value === 'number') return value
  if (type === 'boolean' && typeof value === 'boolean') return value
  if (type === 'date' && typeof value === 'string') return formatAge(value, now)
  return null
}
