/**
 * Converts objects to a Table or to metadata only, as `kubectl get` and metadata clients request them (negotiation.ts). `now` is for
 * columns with ages.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { IncludeObject } from '../negotiation.ts'
import type { Column } from '../resource.ts'
import { StatusError } from '../status.ts'
import { defaultColumns } from './builtin-columns.ts'
import { rowConditions } from './pod-cells.ts'

export interface ListMeta {
  readonly resourceVersion?: string | undefined
  readonly continue?: string | undefined
  readonly remainingItemCount?: number | undefined
}

export interface TableOptions {
  readonly includeObject: IncludeObject
  /** The version of meta.k8s.io that the client requested. */
  readonly version: string
  readonly now: Date
}

type TableDocument = Record<string, unknown>

export function toTable(
  objects: readonly KubeObject[],
  columns: readonly Column[],
  options: TableOptions & ListMeta,
): TableDocument {
  // For an empty list, kinds without their own columns have null instead of an empty list of rows.
  const rows =
    objects.length === 0 && columns === defaultColumns ? null : objects.map((object) => toRow(object, columns, options))
  return { ...toHead('Table', options), columnDefinitions: columns.map(toHeader), rows }
}

/** A Table of one object has the object's resourceVersion. */
export function toObjectTable(object: KubeObject, columns: readonly Column[], options: TableOptions): TableDocument {
  return toTable([object], columns, { ...options, resourceVersion: object.metadata.resourceVersion })
}

/** The object of a watch event. Only the first event has column definitions. */
export function toTableEvent(
  object: KubeObject,
  columns: readonly Column[],
  options: TableOptions & { readonly isFirst: boolean },
): TableDocument {
  const table = toObjectTable(object, columns, options)
  return options.isFirst ? table : { ...table, columnDefinitions: null }
}

export function toPartialObject(object: KubeObject, version: string): TableDocument {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata }
}

export function toPartialList(
  objects: readonly KubeObject[],
  options: ListMeta & { readonly version: string },
): TableDocument {
  const items = objects.map((object) => toPartialObject(object, options.version))
  return { ...toHead('PartialObjectMetadataList', options), items: items.length === 0 ? null : items }
}

/** The error for requesting a list as an object or vice versa. `goType` is kube-apiserver's internal type. */
export function wrongShape(as: 'PartialObjectMetadata' | 'PartialObjectMetadataList', goType: string): StatusError {
  const problem = as === 'PartialObjectMetadata' ? 'is a list' : 'is not a list'
  const message = `you requested ${as}, but the requested object ${problem} (${goType})`
  return new StatusError(406, 'NotAcceptable', message)
}

function toHead(kind: string, options: ListMeta & { readonly version: string }): TableDocument {
  const { resourceVersion, continue: token, remainingItemCount } = options
  return {
    kind,
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata: {
      ...(resourceVersion ? { resourceVersion } : {}),
      ...(token ? { continue: token } : {}),
      ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
    },
  }
}

function toHeader({ name, type, format, description, priority }: Column): TableDocument {
  return { name, type, format, description, priority }
}

function toRow(object: KubeObject, columns: readonly Column[], options: TableOptions): TableDocument {
  const conditions = rowConditions(object)
  return {
    cells: columns.map((column) => column.cell(object, options.now)),
    ...(conditions === undefined ? {} : { conditions }),
    object: toRowObject(object, options),
  }
}

function toRowObject(object: KubeObject, { includeObject, version }: TableOptions): unknown {
  if (includeObject === 'Object') return object
  // The bookmark after the initial events must be recognisable for all values of includeObject.
  const endsInitialEvents = object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true'
  return includeObject === 'None' && !endsInitialEvents ? null : toPartialObject(object, version)
}
