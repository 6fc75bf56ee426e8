/**
 * Objects as the rows of a Table, or as their metadata alone: the forms in which `kubectl get` and metadata clients ask for
 * them (negotiation.ts). Called by the verbs that answer with objects. `now` is for the columns that show ages.
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
  /** Of the group meta.k8s.io: as the client asked. */
  readonly version: string
  readonly now: Date
}

type Body = Record<string, unknown>

export function toTable(
  objects: readonly KubeObject[],
  columns: readonly Column[],
  options: TableOptions & ListMeta,
): Body {
  // Kinds without columns of their own have no rows, rather than none, in an empty list.
  const rows =
    objects.length === 0 && columns === defaultColumns ? null : objects.map((object) => toRow(object, columns, options))
  return { ...toHead('Table', options), columnDefinitions: columns.map(toHeader), rows }
}

/** One object: its own version is that of the table. */
export function toObjectTable(object: KubeObject, columns: readonly Column[], options: TableOptions): Body {
  return toTable([object], columns, { ...options, resourceVersion: object.metadata.resourceVersion })
}

/** The object of a watch event. Only the first of a watch says what the columns are. */
export function toTableEvent(
  object: KubeObject,
  columns: readonly Column[],
  options: TableOptions & { readonly isFirst: boolean },
): Body {
  const table = toObjectTable(object, columns, options)
  return options.isFirst ? table : { ...table, columnDefinitions: null }
}

export function toPartialObject(object: KubeObject, version: string): Body {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata }
}

export function toPartialList(objects: readonly KubeObject[], options: ListMeta & { readonly version: string }): Body {
  const items = objects.map((object) => toPartialObject(object, options.version))
  return { ...toHead('PartialObjectMetadataList', options), items: items.length === 0 ? null : items }
}

/** A list was asked for as one object, or the other way round. `goType` is the real server's name of what it had. */
export function wrongShape(as: 'PartialObjectMetadata' | 'PartialObjectMetadataList', goType: string): StatusError {
  const problem = as === 'PartialObjectMetadata' ? 'is a list' : 'is not a list'
  const message = `you requested ${as}, but the requested object ${problem} (${goType})`
  return new StatusError(406, 'NotAcceptable', message)
}

function toHead(kind: string, options: ListMeta & { readonly version: string }): Body {
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

function toHeader({ name, type, format, description, priority }: Column): Body {
  return { name, type, format, description, priority }
}

function toRow(object: KubeObject, columns: readonly Column[], options: TableOptions): Body {
  const conditions = rowConditions(object)
  return {
    cells: columns.map((column) => column.cell(object, options.now)),
    ...(conditions === undefined ? {} : { conditions }),
    object: toRowObject(object, options),
  }
}

function toRowObject(object: KubeObject, { includeObject, version }: TableOptions): unknown {
  if (includeObject === 'Object') return object
  // The bookmark that ends the initial events must be recognisable, whatever was asked for.
  const endsInitialEvents = object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true'
  return includeObject === 'None' && !endsInitialEvents ? null : toPartialObject(object, version)
}
