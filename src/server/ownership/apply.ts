/**
 * Server-side apply: merges a configuration into an object for a field manager. The manager owns all fields of the configuration.
 * Fields of its previous configuration that are missing now are removed, unless another manager owns them. Changing fields of other
 * managers is a conflict, unless forced. Pure; called by verbs/apply.ts.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type { Json } from '../../util/json/json.ts'
import { badRequest, StatusError } from '../status.ts'
import { unownedFields } from './compare.ts'
import { type Conflict, conflictError, toConflicts } from './conflicts.ts'
import { difference, isEmpty, recursiveDifference, toPath } from './field-set.ts'
import { fieldsOf } from './fields-of.ts'
import { agreedConflicts, lastAppliedOwner, refreshLastApplied } from './last-applied.ts'
import { isSameManager, type Manager, readManagers, writeManagers } from './managers.ts'
import { merge } from './merge.ts'
import { pruneAbandoned } from './prune.ts'
import { compareIn, type Ownership, reconcileManagers, settle, trackUpdate } from './track.ts'
import { checkFields } from './validate.ts'
import { FieldTypeError } from './values.ts'

export interface Application {
  /** The current object; an empty one if it does not exist. */
  readonly live: KubeObject
  readonly config: JsonObject
  readonly manager: string
  readonly force: boolean
  readonly now: string
  /** An empty object of the kind. */
  readonly empty: KubeObject
}

export interface AppliedConfiguration {
  /** The resulting object with its `managedFields`. */
  readonly object: KubeObject
  /** True if nothing but `managedFields` changes. Otherwise the object must be decoded, defaulted and validated like a body. */
  readonly isAsBefore: boolean
}

/** Throws a StatusError. */
export function applyConfiguration(ownership: Ownership, application: Application): AppliedConfiguration {
  checkConfiguration(ownership, application)
  const { object, managers, isAsBefore } = withContext('', () => applyAgreed(ownership, application))
  const metadata = { ...object.metadata }
  const entries = writeManagers(managers)
  if (entries === undefined) delete metadata.managedFields
  else metadata.managedFields = entries
  return { object: refreshLastApplied({ ...object, metadata }, application), isAsBefore }
}

function checkConfiguration({ type }: Ownership, { config }: Application): void {
  const { managedFields } = (config['metadata'] ?? {}) as JsonObject
  if (Array.isArray(managedFields)) throw badRequest('metadata.managedFields must be nil')
  withContext(`failed to create typed patch object (${describe(config)}): `, () => checkFields(type, config))
}

/** kubectl does not conflict with fields that it applied itself by client-side apply, under another manager name. */
function applyAgreed(ownership: Ownership, application: Application): ApplyResult {
  const first = attempt(ownership, application, application.force)
  if (!('conflicts' in first)) return first
  if (application.manager !== lastAppliedOwner) throw conflictError(first.conflicts)
  const agreed = agreedConflicts(ownership, application.live)
  const open = agreed === undefined ? first.conflicts : first.conflicts.filter((one) => !agreed(toPath(one.place)))
  if (open.length > 0) throw conflictError(open)
  return attempt(ownership, application, true) as ApplyResult
}

interface ApplyResult extends AppliedConfiguration {
  readonly managers: readonly Manager[]
}

function attempt(
  ownership: Ownership,
  application: Application,
  force: boolean,
): ApplyResult | { readonly conflicts: readonly Conflict[] } {
  const live = withoutManagedFields(application.live)
  const { type, apiVersion, subresource, resets } = ownership
  const { config, now } = application
  const known = liveManagers(ownership, application, live)
  const identity = { name: application.manager, operation: 'Apply' as const, apiVersion, subresource }
  const last = known.find((manager) => isSameManager(manager, identity))
  const mentioned = fieldsOf(type, config)
  const fields = resets === undefined ? mentioned : recursiveDifference(mentioned, resets)
  const self: Manager = { ...identity, time: last?.time, fields }
  const managers = [...known.filter((manager) => manager !== last), self]
  const merged = merge(type, live as unknown as Json, config) as unknown as KubeObject
  const object = pruneAbandoned(ownership, merged, { managers, self, last })
  const comparison = compareIn(ownership, live, object)
  const settled = settle(ownership, managers, { old: live, object, comparison, self })
  if (settled.conflicts.length > 0 && !force) return { conflicts: toConflicts(settled.conflicts) }
  // A configuration that changes nothing keeps the time of its manager.
  const isAsBefore = isDeepEqual(live, object)
  const owned = difference(fields, unownedFields)
  const applier = { ...self, fields: owned, time: isAsBefore ? self.time : now }
  const others = settled.managers.filter((manager) => manager !== self)
  return { object, managers: isEmpty(owned) ? others : [...others, applier], isAsBefore }
}

/** If the object has no managers, all its fields are attributed to `before-first-apply`. */
function liveManagers(ownership: Ownership, { live, empty, now }: Application, bare: KubeObject): readonly Manager[] {
  const managers = reconcileManagers(ownership, readManagers(live.metadata.managedFields), bare)
  if (managers.length > 0) return managers
  return trackUpdate(ownership, [], { old: empty, object: bare, manager: 'before-first-apply', now }, false)
}

function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** An object as kube-apiserver shows it in messages: `default/web; apps/v1, Kind=Deployment`. */
export function describe(config: JsonObject): string {
  const { namespace = '', name = '' } = (config['metadata'] ?? {}) as JsonObject
  return `${textOf(namespace)}/${textOf(name)}; ${describeType(config)}`
}

export function describeType({ apiVersion, kind }: JsonObject): string {
  const version = textOf(apiVersion)
  return `${version.includes('/') ? version : `/${version}`}, Kind=${textOf(kind)}`
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** A value that does not fit its type is an internal error in kube-apiserver. */
function withContext<T>(context: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof FieldTypeError)) throw error
    throw new StatusError(500, '', context + error.message)
  }
}
