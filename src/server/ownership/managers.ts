/**
 * Field managers: reads and writes `metadata.managedFields`. A manager with operation Update is identified by name, version and
 * subresource; one with Apply by name and subresource.
 */
import type { JsonObject } from '../../kube/objects.ts'
import { quote } from '../field-errors.ts'
import { type FieldSet, isEmpty, noFields, parseFieldSet, union } from './field-set.ts'

export interface Manager {
  readonly name: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
  /** When its fields last changed; may be unknown. */
  readonly time: string | undefined
  readonly fields: FieldSet
}

/** Maximum number of Update managers. Beyond it, the oldest are merged into one. */
const maxUpdaters = 10
const oldUpdates = 'ancient-changes'

type ManagerIdentity = Pick<Manager, 'name' | 'operation' | 'apiVersion' | 'subresource'>

/** The identity of a manager as text; kube-apiserver sorts by this text. */
export function identityOf({ name, operation, apiVersion, subresource }: ManagerIdentity): string {
  return JSON.stringify({
    ...(name === '' ? {} : { manager: name }),
    operation,
    ...(operation === 'Apply' ? {} : { apiVersion }),
    ...(subresource === '' ? {} : { subresource }),
  })
}

export function isSameManager(one: ManagerIdentity, other: ManagerIdentity): boolean {
  return (
    one.name === other.name &&
    one.operation === other.operation &&
    one.subresource === other.subresource &&
    (one.operation === 'Apply' || one.apiVersion === other.apiVersion)
  )
}

/** Reads entries that this server has written, without validation. */
export function readManagers(entries: readonly JsonObject[] | undefined): Manager[] {
  const managers: Manager[] = []
  for (const entry of entries ?? []) put(managers, toManager(entry, (entry['fieldsV1'] ?? noFields) as FieldSet))
  return managers
}

/** Of two equal managers, the last one wins. */
function put(managers: Manager[], manager: Manager): void {
  const twin = managers.findIndex((other) => isSameManager(other, manager))
  if (twin < 0) managers.push(manager)
  else managers[twin] = manager
}

/** Parses entries written by a client or a webhook. Throws an Error if they are invalid. */
export function parseManagers(entries: readonly JsonObject[]): Manager[] {
  const managers: Manager[] = []
  for (const [index, entry] of entries.entries()) {
    const { operation, apiVersion, fieldsType } = entry
    if (operation !== 'Apply' && operation !== 'Update') throw new Error('operation must be `Apply` or `Update`')
    if (!apiVersion) throw new Error('apiVersion must not be empty')
    if (!fieldsType) throw new Error(`missing fieldsType in managed fields entry ${index}`)
    if (fieldsType !== 'FieldsV1') {
      throw new Error(`invalid fieldsType ${quote(String(fieldsType))} in managed fields entry ${index}`)
    }
    put(managers, toManager(entry, parseFieldSet(entry['fieldsV1'])))
  }
  return managers
}

function toManager(entry: JsonObject, fields: FieldSet): Manager {
  const { manager, operation, apiVersion, subresource, time } = entry as Readonly<Record<string, string | undefined>>
  return {
    name: manager ?? '',
    operation: operation as Manager['operation'],
    apiVersion: apiVersion ?? '',
    subresource: subresource ?? '',
    time,
    fields,
  }
}

/** Undefined if there are no managers. */
export function writeManagers(managers: readonly Manager[]): JsonObject[] | undefined {
  if (managers.length === 0) return undefined
  const sorted = managers.length === 1 ? managers : [...managers].sort(inOrder)
  return sorted.map(toEntry)
}

/** Fields in kube-apiserver's order. Assigned one by one, because spreading is slow and this runs for every write. */
function toEntry({ name, operation, apiVersion, subresource, time, fields }: Manager): JsonObject {
  const entry: JsonObject = name === '' ? {} : { manager: name }
  entry['operation'] = operation
  entry['apiVersion'] = apiVersion
  if (time !== undefined) entry['time'] = time
  entry['fieldsType'] = 'FieldsV1'
  entry['fieldsV1'] = fields as JsonObject
  if (subresource !== '') entry['subresource'] = subresource
  return entry
}

function inOrder(one: Manager, other: Manager): number {
  return (
    compareTexts(one.operation, other.operation) ||
    compareTexts(one.time ?? '', other.time ?? '') ||
    compareTexts(one.name, other.name) ||
    compareTexts(one.apiVersion, other.apiVersion) ||
    compareTexts(one.subresource, other.subresource)
  )
}

function compareTexts(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1
}

/** Adds the fields to the manager's entry; in another version it is another manager. */
export function withUpdater(managers: readonly Manager[], updater: Manager): readonly Manager[] {
  if (isEmpty(updater.fields)) return managers
  const index = managers.findIndex((manager) => isSameManager(manager, updater))
  if (index < 0) return [...managers, updater]
  return managers.with(index, { ...updater, fields: union(managers[index]!.fields, updater.fields) })
}

/** Merges the oldest Update managers of a version until there are few enough. */
export function capUpdaters(managers: readonly Manager[]): readonly Manager[] {
  const updaters = managers.filter(({ operation }) => operation === 'Update')
  if (updaters.length <= maxUpdaters) return managers
  const oldestFirst = updaters.sort(
    (one, other) => compareTexts(one.time ?? '', other.time ?? '') || compareTexts(identityOf(one), identityOf(other)),
  )
  let kept = [...managers]
  const firsts = new Map<string, Manager>()
  let count = updaters.length
  for (const manager of oldestFirst) {
    if (count <= maxUpdaters) break
    const { apiVersion } = manager
    const first = firsts.get(apiVersion)
    if (first === undefined) {
      firsts.set(apiVersion, manager)
      continue
    }
    const bucket = kept.find((other) => isBucketOf(other, apiVersion)) ?? first
    const merged: Manager = {
      name: oldUpdates,
      operation: 'Update',
      apiVersion,
      subresource: '',
      time: manager.time,
      fields: union(manager.fields, bucket.fields),
    }
    kept = [...kept.filter((other) => other !== bucket && other !== manager), merged]
    count -= 1
  }
  return kept
}

function isBucketOf({ name, operation, apiVersion, subresource }: Manager, version: string): boolean {
  return name === oldUpdates && operation === 'Update' && apiVersion === version && subresource === ''
}
