/**
 * Decoding and validation of metadata, the same for all kinds (apimachinery's `ValidateObjectMeta` and `ValidateObjectMetaUpdate`).
 * Errors are in kube-apiserver's order.
 */
import { type Json, type JsonObject, type ObjectMeta, type OwnerReference, parseGroupVersion } from '../kube/objects.ts'
import { lazy } from '../util/lazy.ts'
import { type FieldError, forbidden, formatValue, invalid, quote, required, tooLong } from './field-errors.ts'
import { type DecodedMetadata, DecodingError, readMetadata } from './metadata-decoding.ts'
import { labelNameProblems, labelValueProblems, qualifiedNameProblems } from './names.ts'
import type { ApiResource } from './resource.ts'
import { badRequest } from './status.ts'

export interface MetadataRules {
  readonly namespaced: boolean
  nameProblems(name: string, isPrefix: boolean): readonly string[]
  /** For core kinds: a finalizer without a domain must be one of Kubernetes' own. */
  readonly needsStandardFinalizers?: boolean
}

/**
 * Decodes the metadata of a body. Throws 400 for wrong types. Metadata of custom resources is decoded separately, which shows in
 * messages: `ObjectMeta.labels` instead of `ObjectMeta.metadata.labels`. A plain kind name stands for an object embedded in a custom
 * resource.
 */
export function decodeMetadata(
  raw: unknown,
  kindOfObject: string | Pick<ApiResource, 'kind' | 'version' | 'isCustom'>,
  wantedKind?: string,
): DecodedMetadata {
  const named = typeof kindOfObject === 'string' ? { kind: kindOfObject, version: 'v1', isCustom: true } : kindOfObject
  const { kind, version, isCustom } = named
  try {
    return readMetadata(raw, { enclosingKind: isCustom ? undefined : kind })
  } catch (error) {
    if (!(error instanceof DecodingError)) throw error
    throw badRequest(
      `${kind} in version ${quote(version)} cannot be handled as a ${wantedKind ?? kind}: ${error.message}`,
    )
  }
}

/** Validates metadata after the name has been generated. */
export function validateMetadata(meta: ObjectMeta, rules: MetadataRules): FieldError[] {
  return [
    ...nameErrors(meta, rules),
    ...namespaceErrors(meta, rules),
    ...((meta.generation ?? 0) < 0
      ? [invalid('metadata.generation', meta.generation, 'must be greater than or equal to 0')]
      : []),
    ...labelErrors(meta.labels ?? {}),
    ...annotationErrors(meta.annotations ?? {}),
    ...ownerErrors(meta.ownerReferences ?? []),
    ...finalizerErrors(meta.finalizers ?? []),
    ...managedFieldsErrors(meta),
    ...(rules.needsStandardFinalizers ? standardFinalizerErrors(meta.finalizers ?? []) : []),
  ]
}

function nameErrors({ generateName = '', name = '' }: ObjectMeta, { nameProblems }: MetadataRules): FieldError[] {
  const prefixProblems = generateName === '' ? [] : nameProblems(generateName, true)
  const errors = prefixProblems.map((problem) => invalid('metadata.generateName', generateName, problem))
  if (name === '') return [...errors, required('metadata.name', 'name or generateName is required')]
  return [...errors, ...nameProblems(name, false).map((problem) => invalid('metadata.name', name, problem))]
}

function namespaceErrors({ namespace = '' }: ObjectMeta, { namespaced }: MetadataRules): FieldError[] {
  if (!namespaced) return namespace === '' ? [] : [forbidden('metadata.namespace', 'not allowed on this type')]
  if (namespace === '') return [required('metadata.namespace')]
  return labelNameProblems(namespace, false).map((problem) => invalid('metadata.namespace', namespace, problem))
}

/** Also used for `matchLabels` and other labels inside of objects. */
export function labelErrors(labels: Readonly<Record<string, string>>, field = 'metadata.labels'): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedNameProblems(key).map((problem) => invalid(field, key, problem)),
    ...labelValueProblems(value).map((problem) => invalid(field, value, problem)),
  ])
}

const maxAnnotationBytes = 256 * 1024

export function annotationErrors(
  annotations: Readonly<Record<string, string>>,
  field = 'metadata.annotations',
): FieldError[] {
  let bytes = 0
  const errors = Object.entries(annotations).flatMap(([key, value]) => {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
    return qualifiedNameProblems(key.toLowerCase()).map((problem) => invalid(field, key, problem))
  })
  return bytes > maxAnnotationBytes ? [...errors, tooLong(field, maxAnnotationBytes)] : errors
}

function ownerErrors(owners: readonly OwnerReference[]): FieldError[] {
  const errors: FieldError[] = []
  // Formatted at most once: there may be as many errors as owners, and each shows the whole list.
  const list = lazy(() => `[${owners.map(formatOwner).join(',')}]`)
  let controller: string | undefined
  for (const owner of owners) {
    errors.push(...ownerReferenceErrors(owner))
    if (!owner.controller) continue
    const name = `${owner.kind}/${owner.name}`
    if (controller !== undefined) {
      const found = `Found "true" in references for ${controller} and ${name}`
      errors.push(invalidOwner(list(), `Only one reference can have Controller set to true. ${found}`))
    }
    controller ??= name
  }
  return errors
}

function ownerReferenceErrors(owner: OwnerReference): FieldError[] {
  const field = 'metadata.ownerReferences'
  const errors: FieldError[] = []
  // Go accepts `/v1` as version v1 of the core group.
  const hasVersion = parseGroupVersion(owner.apiVersion.replace(/^\/(?=[^/]+$)/, '')) !== undefined
  if (!hasVersion) errors.push(invalid(`${field}.apiVersion`, owner.apiVersion, 'version must not be empty'))
  for (const key of ['kind', 'name', 'uid'] as const) {
    if (owner[key] === '') errors.push(invalid(`${field}.${key}`, '', 'must not be empty'))
  }
  if (/^\/?v1$/.test(owner.apiVersion) && owner.kind === 'Event') {
    errors.push(invalidOwner(formatOwner(owner), '/v1, Kind=Event is disallowed from being an owner'))
  }
  return errors
}

function invalidOwner(value: string, detail: string): FieldError {
  return { type: 'FieldValueInvalid', field: 'metadata.ownerReferences', body: `Invalid value: ${value}: ${detail}` }
}

/** Fields in the order of Go's struct. */
function formatOwner(owner: OwnerReference): string {
  const keys = ['apiVersion', 'kind', 'name', 'uid', 'controller', 'blockOwnerDeletion'] as const
  const fields = keys.filter((key) => owner[key] !== undefined).map((key) => `"${key}":${jsonOf(owner[key])}`)
  return `{${fields.join(',')}}`
}

function jsonOf(value: unknown): string {
  return formatValue([value]).slice(1, -1)
}

function finalizerErrors(finalizers: readonly string[]): FieldError[] {
  const field = 'metadata.finalizers'
  const errors = finalizers.flatMap((finalizer) => {
    return qualifiedNameProblems(finalizer).map((problem) => invalid(field, finalizer, problem))
  })
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.push(invalid(field, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'))
  }
  return errors
}

const standardFinalizers = new Set(['kubernetes', 'orphan', 'foregroundDeletion'])

function isStandard(finalizer: string): boolean {
  return finalizer.includes('/') || standardFinalizers.has(finalizer)
}

function standardFinalizerErrors(finalizers: readonly string[]): FieldError[] {
  return finalizers.flatMap((finalizer, index) => {
    if (isStandard(finalizer)) return []
    const detail = 'name is neither a standard finalizer name nor is it fully qualified'
    return [invalid(`metadata.finalizers[${index}]`, finalizer, detail)]
  })
}

/** Warnings about finalizers that are added to a custom resource. */
export function finalizerWarnings(meta: ObjectMeta, old?: ObjectMeta): string[] {
  const added = new Set(meta.finalizers)
  for (const finalizer of old?.finalizers ?? []) added.delete(finalizer)
  return [...added].sort().flatMap((finalizer) => {
    const problems = qualifiedNameProblems(finalizer)
    if (!isStandard(finalizer)) {
      const path = finalizer.includes('.') ? ' including a path (/)' : ''
      problems.push(
        `prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`,
      )
    }
    return problems.map((problem) => `metadata.finalizers: ${quote(finalizer)}: ${problem}`)
  })
}

function managedFieldsErrors({ managedFields }: ObjectMeta): readonly FieldError[] {
  if (managedFields === undefined || managedFields.every(isOwnEntry)) return noErrors
  return managedFields.flatMap(({ operation, fieldsType, manager, subresource }, index) => {
    const field = `metadata.managedFields[${index}]`
    const errors: FieldError[] = []
    if (operation !== 'Apply' && operation !== 'Update') {
      errors.push(invalid(`${field}.operation`, operation ?? '', 'must be `Apply` or `Update`'))
    }
    if (fieldsType && fieldsType !== 'FieldsV1') {
      errors.push(invalid(`${field}.fieldsType`, fieldsType, 'must be `FieldsV1`'))
    }
    if (Buffer.byteLength(String(manager ?? '')) > 128) errors.push(tooLong(`${field}.manager`, 128))
    if (Buffer.byteLength(String(subresource ?? '')) > 256) errors.push(tooLong(`${field}.subresource`, 256))
    return errors
  })
}

const noErrors: readonly FieldError[] = []

/** A fast path: true for entries that are certainly valid, such as those that this server writes. */
function isOwnEntry({ operation, fieldsType, manager, subresource }: JsonObject): boolean {
  if ((operation !== 'Apply' && operation !== 'Update') || fieldsType !== 'FieldsV1') return false
  return isShort(manager) && isShort(subresource)
}

function isShort(text: Json | undefined): boolean {
  return text === undefined || (typeof text === 'string' && text.length <= 42)
}

/**
 * Validates an update: immutable fields, and the rules that also hold on creation. The new metadata must already have its
 * resourceVersion.
 */
export function validateMetadataUpdate(
  meta: ObjectMeta,
  old: ObjectMeta,
  rules: Pick<MetadataRules, 'needsStandardFinalizers'> = {},
): FieldError[] {
  return [
    ...(old.deletionTimestamp === undefined ? [] : newFinalizerErrors(meta, old)),
    ...(meta.resourceVersion
      ? []
      : [invalid('metadata.resourceVersion', meta.resourceVersion ?? '', 'must be specified for an update')]),
    ...((meta.generation ?? 0) < (old.generation ?? 0)
      ? [invalid('metadata.generation', meta.generation ?? 0, 'must not be decremented')]
      : []),
    ...immutableErrors(meta, old),
    ...labelErrors(meta.labels ?? {}),
    ...annotationErrors(meta.annotations ?? {}),
    ...ownerErrors(meta.ownerReferences ?? []),
    ...managedFieldsErrors(meta),
    ...(rules.needsStandardFinalizers ? standardFinalizerErrors(meta.finalizers ?? []) : []),
  ]
}

function newFinalizerErrors(meta: ObjectMeta, old: ObjectMeta): FieldError[] {
  const known = new Set(old.finalizers)
  const added = [...new Set(meta.finalizers)].filter((finalizer) => !known.has(finalizer)).sort()
  if (added.length === 0) return []
  const list = `[]string{${added.map(quote).join(', ')}}`
  const detail = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`
  return [forbidden('metadata.finalizers', detail)]
}

function immutableErrors(meta: ObjectMeta, old: ObjectMeta): FieldError[] {
  const texts = ['name', 'namespace', 'uid'] as const
  const others = ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const
  return [
    ...texts.filter((key) => (meta[key] ?? '') !== (old[key] ?? '')).map((key) => immutable(key, meta[key] ?? '')),
    ...others.filter((key) => meta[key] !== old[key]).map((key) => immutable(key, meta[key] ?? null)),
  ]
}

function immutable(key: string, value: unknown): FieldError {
  return invalid(`metadata.${key}`, value, 'field is immutable')
}
