/**
 * Validates CustomResourceDefinitions with the real server's messages. Metadata is validated elsewhere for all kinds, except
 * the name, which must be `<plural>.<group>`.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import { type FieldError, invalid, notSupported, required } from '../field-errors.ts'
import { label1035Problems, subdomainProblems } from '../names.ts'
import { validateApproval } from './approval.ts'
import { hasSchema } from './completeness.ts'
import {
  type CrdNames,
  type CrdVersion,
  type CustomResourceDefinition,
  type CustomResourceDefinitionSpec,
  isConditionTrue,
} from './definition.ts'
import { printVersions } from './go-print.ts'
import { type InternalSpec, toInternal } from './internal.ts'
import { caBundleProblem, validateConversion } from './validate-conversion.ts'
import { validateSchema } from './validate-schema.ts'
import {
  validateColumn,
  validateDeprecation,
  validateSelectableFields,
  validateSubresources,
} from './validate-versions.ts'

export function validateCrd(object: KubeObject): FieldError[] {
  const crd = object as CustomResourceDefinition
  const { metadata, spec } = crd
  const errors: FieldError[] = []
  if (metadata.name && metadata.name !== `${spec.names.plural}.${spec.group}`) {
    errors.push(invalid('metadata.name', metadata.name, 'must be spec.names.plural+"."+spec.group'))
  }
  return [
    ...errors,
    // A new CRD is not established, so its certificates are not checked.
    ...validateSpec(spec, undefined, true),
    ...validateStatus(crd),
    ...validateStoredVersions(crd),
    ...validateApproval(crd, undefined),
    ...validatePreserveUnknownFields(spec, undefined),
  ]
}

export function validateCrdUpdate(object: KubeObject, oldObject: KubeObject): FieldError[] {
  const crd = object as CustomResourceDefinition
  const old = oldObject as CustomResourceDefinition
  return [
    ...validateSpec(crd.spec, old.spec, mayHaveInvalidCaBundle(old)),
    ...validateImmutable(crd, old),
    ...validateStatus(crd),
    ...validateStoredVersions(crd),
    ...validateApproval(crd, old),
    ...validatePreserveUnknownFields(crd.spec, old.spec),
  ]
}

export function validateCrdStatusUpdate(object: KubeObject): FieldError[] {
  return validateStatus(object as CustomResourceDefinition)
}

function mayHaveInvalidCaBundle(old: CustomResourceDefinition): boolean {
  if (!isConditionTrue(old, 'Established')) return true
  const caBundle = old.spec.conversion?.webhook?.clientConfig?.caBundle ?? ''
  return caBundle !== '' && caBundleProblem(caBundle) !== undefined
}

function validateImmutable({ spec }: CustomResourceDefinition, old: CustomResourceDefinition): FieldError[] {
  const errors: FieldError[] = []
  const check = (field: string, value: string, oldValue: string): void => {
    if (value !== oldValue) errors.push(invalid(field, value, 'field is immutable'))
  }
  if (isConditionTrue(old, 'Established')) {
    check('spec.scope', spec.scope, old.spec.scope)
    check('spec.names.kind', spec.names.kind, old.spec.names.kind)
  }
  check('spec.group', spec.group, old.spec.group)
  check('spec.names.plural', spec.names.plural, old.spec.names.plural)
  return errors
}

function validateSpec(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
  allowInvalidCaBundle: boolean,
): FieldError[] {
  const internal = toInternal(spec)
  const isUnchanged = (name: string): boolean => hasSameSchema(spec, old, name)
  return [
    ...validateGroup(spec.group),
    ...validateScope(spec.scope),
    ...validateSchemasPresent(internal),
    ...validateDefaultsAllowed(spec),
    ...internal.versions.flatMap((version, index) => {
      const path = `spec.versions[${index}]`
      return validateVersion(version, internal, { path, isUnchanged: isUnchanged(version.name) })
    }),
    ...validateVersionSet(internal.versions, spec.versions === null),
    ...validateRequiredNames(spec.names),
    ...validateNames(spec.names, 'spec.names'),
    ...validateTop(internal, isUnchanged(spec.versions?.[0]?.name ?? '')),
    ...(spec.conversion && spec.conversion.strategy !== 'None' && spec.preserveUnknownFields
      ? [
          invalid(
            'spec.conversion.strategy',
            spec.conversion.strategy,
            'must be None if spec.preserveUnknownFields is true',
          ),
        ]
      : []),
    ...validateConversion(spec.conversion, { allowInvalidCaBundle }),
  ]
}

function validateGroup(group: string): FieldError[] {
  if (group === '') return [required('spec.group')]
  const problems = subdomainProblems(group)
  if (problems.length > 0) return [invalid('spec.group', group, problems.join(','))]
  return group.includes('.') ? [] : [invalid('spec.group', group, 'should be a domain with at least one dot')]
}

function validateScope(scope: string): FieldError[] {
  if (scope === '') return [required('spec.scope')]
  return scope === 'Cluster' || scope === 'Namespaced'
    ? []
    : [notSupported('spec.scope', scope, ['Cluster', 'Namespaced'])]
}

function validateSchemasPresent({ validation, versions }: InternalSpec): FieldError[] {
  if (validation?.openAPIV3Schema) return []
  return versions.flatMap(({ schema }, index) => {
    return schema?.openAPIV3Schema ? [] : [required(`spec.versions[${index}].schema.openAPIV3Schema`)]
  })
}

function validateDefaultsAllowed({ versions, preserveUnknownFields }: CustomResourceDefinitionSpec): FieldError[] {
  const hasDefaults = versions?.some(({ schema }) => {
    return schema?.openAPIV3Schema && hasSchema(schema.openAPIV3Schema, (one) => one.default !== undefined)
  })
  if (!hasDefaults || !preserveUnknownFields) return []
  return [invalid('spec.preserveUnknownFields', true, 'must be false in order to use defaults in the schema')]
}

/** True if the schema of a version did not change: its rules are then not rejected for their cost. */
function hasSameSchema(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
  name: string,
): boolean {
  const schemaOf = (one: CustomResourceDefinitionSpec | undefined) =>
    one?.versions?.find((version) => version.name === name)?.schema
  return old !== undefined && isDeepEqual(schemaOf(spec), schemaOf(old))
}

function validateVersion(
  version: CrdVersion,
  internal: InternalSpec,
  { path, isUnchanged }: { readonly path: string; readonly isUnchanged: boolean },
): FieldError[] {
  const { name, schema, subresources, additionalPrinterColumns = [], selectableFields = [] } = version
  const problems = label1035Problems(name)
  const hasStatus = (subresources ?? internal.subresources)?.status !== undefined
  const errors = problems.length === 0 ? [] : [invalid(`${path}.name`, name, problems.join(','))]
  errors.push(
    ...validateDeprecation(version, `${path}.deprecationWarning`),
    ...validateSchema(schema, { hasStatus, isUnchanged }, `${path}.schema`),
    ...validateSubresources(subresources, `${path}.subresources`),
    ...additionalPrinterColumns.flatMap((column, index) => {
      return validateColumn(column, `${path}.additionalPrinterColumns[${index}]`)
    }),
  )
  if (selectableFields.length > 0 && !schema?.openAPIV3Schema) {
    const detail = 'may only be set when `version.schema.openAPIV3Schema` is not included'
    return [...errors, invalid(`${path}.selectableFields`, '', detail)]
  }
  return [...errors, ...validateSelectableFields(selectableFields, schema, `${path}.selectableFields`)]
}

function validateVersionSet(versions: readonly CrdVersion[], isAbsent: boolean): FieldError[] {
  const shown = printVersions(isAbsent ? undefined : versions)
  const wrong = (detail: string): FieldError => {
    return {
      type: 'FieldValueInvalid',
      field: 'spec.versions',
      body: `Invalid value: ${shown}: ${detail}`,
    }
  }
  const errors: FieldError[] = []
  if (new Set(versions.map(({ name }) => name)).size < versions.length) {
    errors.push(wrong('must contain unique version names'))
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    errors.push(wrong('must have exactly one version marked as storage version'))
  }
  // In the internal form, the first version is also at the top level and is validated again there.
  const first = versions[0]?.name ?? ''
  const problems = first === '' ? [] : label1035Problems(first)
  return problems.length === 0 ? errors : [...errors, invalid('spec.version', first, problems.join(','))]
}

function validateRequiredNames(names: CrdNames): FieldError[] {
  return (['plural', 'singular', 'kind', 'listKind'] as const)
    .filter((name) => (names[name] ?? '') === '')
    .map((name) => required(`spec.names.${name}`))
}

function validateNames(names: CrdNames, path: string): FieldError[] {
  const { plural, singular = '', kind, listKind = '', shortNames = [], categories = [] } = names
  const errors: FieldError[] = []
  const check = (field: string, value: string, words = ''): void => {
    const problems = label1035Problems(words === '' ? value : value.toLowerCase())
    if (problems.length > 0) errors.push(invalid(`${path}.${field}`, value, words + problems.join(',')))
  }
  const mixed = 'may have mixed case, but should otherwise match: '
  if (plural !== '') check('plural', plural)
  if (singular !== '') check('singular', singular)
  if (kind !== '') check('kind', kind, mixed)
  if (listKind !== '') check('listKind', listKind, mixed)
  for (const [index, shortName] of shortNames.entries()) check(`shortNames[${index}]`, shortName)
  if (kind !== '' && kind === listKind) {
    errors.push(invalid(`${path}.listKind`, listKind, 'kind and listKind may not be the same'))
  }
  for (const [index, category] of categories.entries()) check(`categories[${index}]`, category)
  return errors
}

/** Validates the settings common to all versions. */
function validateTop(internal: InternalSpec, isUnchanged: boolean): FieldError[] {
  const { validation, subresources, additionalPrinterColumns, selectableFields, versions } = internal
  const hasStatus = [subresources, ...versions.map((version) => version.subresources)].some((one) => one?.status)
  const errors = [
    ...validateSchema(validation, { hasStatus, isUnchanged }, 'spec.validation'),
    ...validateSubresources(subresources, 'spec.subresources'),
    ...additionalPrinterColumns.flatMap((column, index) => {
      return validateColumn(column, `spec.additionalPrinterColumns[${index}]`)
    }),
  ]
  if (selectableFields.length > 0 && !validation) {
    return [...errors, invalid('spec.selectableFields', '', 'may only be set when validations.schema is included')]
  }
  return [...errors, ...validateSelectableFields(selectableFields, validation, 'spec.selectableFields')]
}

function validateStatus({ status }: CustomResourceDefinition): FieldError[] {
  return validateNames(status.acceptedNames, 'status.acceptedNames')
}

function validateStoredVersions({ spec, status }: CustomResourceDefinition): FieldError[] {
  const field = 'status.storedVersions'
  const stored = status.storedVersions ?? []
  if (stored.length === 0) return [invalid(field, null, 'must have at least one stored version')]
  const versions = spec.versions ?? []
  const errors = versions
    .filter(({ storage, name }) => storage && !stored.includes(name))
    .map(({ name }) => invalid(field, stored, `must have the storage version ${name}`))
  for (const [index, name] of stored.entries()) {
    if (versions.some((version) => version.name === name)) continue
    const detail = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`
    errors.push(invalid(`${field}[${index}]`, name, detail))
  }
  return errors
}

function validatePreserveUnknownFields(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
): FieldError[] {
  if (old?.preserveUnknownFields || !spec.preserveUnknownFields) return []
  const detail =
    'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead'
  return [invalid('spec.preserveUnknownFields', true, detail)]
}
