/** The resources of a CRD: one per served version. Called when a CRD is established or changed. */

import { compareKubeVersions } from '../../kube/crds/kube-versions.ts'
import { formatGroupVersion, type JsonObject, type KubeObject } from '../../kube/objects.ts'
import { builtinFieldTypes } from '../builtins/types.ts'
import type { ServerContext } from '../call.ts'
import { type FieldSet, toFieldSet } from '../ownership/field-set.ts'
import type { FieldType } from '../ownership/field-types.ts'
import { createOwnership } from '../ownership/ownership.ts'
import type { ApiResource, FieldManagement, ScalePaths, Subresource } from '../resource.ts'
import { applyDefaults } from '../schema/default.ts'
import { compileSchema, type SchemaNode } from '../schema/structural.ts'
import { compileColumns } from '../tables/columns.ts'
import { type CrdNames, type CrdVersion, type CustomResourceDefinition, isConditionTrue } from './definition.ts'
import { findField } from './field-paths.ts'
import { coerce, createCustomStrategy } from './strategy.ts'
import { VersionConverter } from './version-converter.ts'
import { WebhookConversion } from './webhook-conversion.ts'

/** In the order of the real server's discovery. */
const verbs: readonly string[] = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
const terminatingVerbs: readonly string[] = ['delete', 'deletecollection', 'get', 'list', 'watch']
const subresourceVerbs: readonly string[] = ['get', 'patch', 'update']

/** A version with its compiled schema. */
interface CompiledVersion {
  readonly version: CrdVersion
  readonly schema: SchemaNode
}

/** Server parts that conversion webhooks need. */
type ConversionParts = Pick<ServerContext, 'webhooks' | 'clock'>

export function crdResources(crd: CustomResourceDefinition, parts: ConversionParts): ApiResource[] {
  const versions = compileVersions(crd)
  const storage = versions.find(({ version }) => version.storage)
  if (!storage) return []
  const convert = createConversions(crd, { versions, storage, parts })
  return versions
    .filter(({ version }) => version.served)
    .map((one) => createResource(crd, one, { isStorage: one === storage, ...convert(one) }))
}

/**
 * For CRDs with a conversion webhook: one resource per version, with which controllers change an object in its stored version
 * without calling the webhook.
 */
export function crdStoredVersionResources(crd: CustomResourceDefinition): ApiResource[] {
  if (crd.spec.conversion?.strategy !== 'Webhook') return []
  return compileVersions(crd).map((one) => createResource(crd, one, { isStorage: true }))
}

function compileVersions({ spec }: CustomResourceDefinition): CompiledVersion[] {
  return (spec.versions ?? []).map((version) => ({ version, schema: compileVersion(version) }))
}

function compileVersion({ schema }: CrdVersion): SchemaNode {
  return compileSchema(schema?.openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
}

type Conversions = Pick<ApiResource, 'conversion' | 'converter'>

function createResource(
  crd: CustomResourceDefinition,
  compiled: CompiledVersion,
  { isStorage, ...conversions }: Conversions & { readonly isStorage: boolean },
): ApiResource {
  const { version, schema } = compiled
  const { spec } = crd
  const names = namesOf(crd)
  const { status, scale } = version.subresources ?? {}
  const warning = deprecationWarning(crd, version)
  return {
    group: spec.group,
    version: version.name,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    kind: names.kind,
    listKind: names.listKind ?? `${names.kind}List`,
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: spec.scope === 'Namespaced',
    verbs: isConditionTrue(crd, 'Terminating') ? terminatingVerbs : verbs,
    subresources: subresourcesOf(crd, version, names.kind),
    ...(scale ? { scale: scale as ScalePaths } : {}),
    isCustom: true,
    isTerminating: isConditionTrue(crd, 'Terminating'),
    collection: `${names.plural}.${spec.group}`,
    ...conversions,
    strategy: createCustomStrategy({
      group: spec.group,
      version: version.name,
      kind: names.kind,
      schema,
      hasStatus: status !== undefined,
      scale: scale as ScalePaths | undefined,
      selectable: selectableOf(version),
      isStorage,
    }),
    fields: {
      ownership: ownershipOf(crd, compiled),
      blank: { apiVersion: formatGroupVersion(spec.group, version.name), kind: names.kind, metadata: {} },
    },
    columns: compileColumns(version.additionalPrinterColumns ?? []),
    ...(warning === undefined ? {} : { warning }),
    ...(version.schema?.openAPIV3Schema ? { openapi: version.schema.openAPIV3Schema as JsonObject } : {}),
  }
}

/** The accepted names: a CRD is served under them even while its spec requests others. */
function namesOf({ spec, status }: CustomResourceDefinition): CrdNames {
  const accepted = status?.acceptedNames
  return accepted && accepted.plural !== '' && accepted.kind !== '' ? accepted : spec.names
}

function subresourcesOf({ spec }: CustomResourceDefinition, version: CrdVersion, kind: string): Subresource[] {
  const { status, scale } = version.subresources ?? {}
  const own = { group: spec.group, version: version.name, kind, verbs: subresourceVerbs }
  return [
    ...(status ? [{ name: 'status', ...own }] : []),
    ...(scale ? [{ name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: subresourceVerbs }] : []),
  ]
}

function selectableOf({ selectableFields = [], schema }: CrdVersion): Map<string, readonly string[]> {
  const root = schema?.openAPIV3Schema ?? {}
  return new Map(
    selectableFields.flatMap(({ jsonPath }): Array<[string, readonly string[]]> => {
      const found = findField(jsonPath, root, { allowBrackets: false })
      return 'problem' in found ? [] : [[jsonPath.replace(/^\./, ''), found.names]]
    }),
  )
}

function deprecationWarning({ spec }: CustomResourceDefinition, version: CrdVersion): string | undefined {
  if (!version.deprecated) return undefined
  if (version.deprecationWarning !== undefined) return version.deprecationWarning
  const name = (one: string): string => `${spec.group}/${one} ${spec.names.kind}`
  const better = (spec.versions ?? [])
    .filter(({ served, deprecated }) => served && !deprecated)
    .map((one) => one.name)
    .filter((one) => compareKubeVersions(one, version.name) > 0)
    .sort((left, right) => compareKubeVersions(right, left))[0]
  const warning = `${name(version.name)} is deprecated`
  return better === undefined ? warning : `${warning}; use ${name(better)}`
}

const specAndMetadata = toFieldSet(['f:metadata'], ['f:spec'])
const statusFields = toFieldSet(['f:status'])

function ownershipOf(crd: CustomResourceDefinition, { version }: CompiledVersion): FieldManagement['ownership'] {
  const { group } = crd.spec
  const versions = crd.spec.versions ?? []
  const types = new Map<string, FieldType>()
  const typeOf = ({ name, schema }: CrdVersion): FieldType => {
    const known = types.get(name) ?? builtinFieldTypes.custom(schema?.openAPIV3Schema as JsonObject | undefined)
    types.set(name, known)
    return known
  }
  const resetsOf = ({ subresources }: CrdVersion, subresource: string): FieldSet | undefined => {
    if (subresources?.status === undefined) return undefined
    return subresource === 'status' ? specAndMetadata : statusFields
  }
  return createOwnership({
    apiVersion: formatGroupVersion(group, version.name),
    type: () => typeOf(version),
    resets: (subresource) => resetsOf(version, subresource),
    inVersion(apiVersion, subresource) {
      const other = versions.find(({ name }) => formatGroupVersion(group, name) === apiVersion)
      // The real server applies the reset fields of other versions to status updates only.
      const resets = other && subresource === 'status' ? resetsOf(other, subresource) : undefined
      return other && { type: typeOf(other), resets }
    },
  })
}

interface Versions {
  readonly versions: readonly CompiledVersion[]
  readonly storage: CompiledVersion
  readonly parts: ConversionParts
}

function createConversions(crd: CustomResourceDefinition, all: Versions): (target: CompiledVersion) => Conversions {
  const { spec } = crd
  const { kind } = namesOf(crd)
  const { storage } = all
  if (spec.conversion?.strategy !== 'Webhook') {
    return (target) => (target === storage ? {} : { conversion: createConversion(crd, target, storage) })
  }
  const { clientConfig = {}, conversionReviewVersions } = spec.conversion.webhook ?? {}
  const conversion = new WebhookConversion(
    {
      group: spec.group,
      kind,
      storage: storage.version.name,
      schemas: new Map(all.versions.map(({ version, schema }) => [version.name, schema])),
      clientConfig,
      reviewVersions: conversionReviewVersions ?? [],
    },
    all.parts.webhooks,
  )
  return (target) => ({
    ...(target === storage ? {} : { conversion: awaited }),
    converter: new VersionConverter(conversion, formatGroupVersion(spec.group, target.version.name), all.parts.clock),
  })
}

/** Marks a version that is not the storage version. Its conversion is asynchronous, so callers must use the converter. */
const awaited: NonNullable<ApiResource['conversion']> = { toStorage: notAtOnce, fromStorage: notAtOnce }

function notAtOnce(): never {
  throw new Error('a webhook converts: its converter has to be asked beforehand')
}

/** With the strategy None, versions differ only in `apiVersion` and in the fields that their schemas prune. */
function createConversion(
  crd: CustomResourceDefinition,
  target: CompiledVersion,
  storage: CompiledVersion,
): NonNullable<ApiResource['conversion']> {
  const { kind } = namesOf(crd)
  const convert = (object: KubeObject, { version, schema }: CompiledVersion): KubeObject => {
    const apiVersion = formatGroupVersion(crd.spec.group, version.name)
    return coerce({ ...object, apiVersion }, { schema, kind, version: version.name }).object
  }
  return {
    toStorage: (object) => convert(object, storage),
    fromStorage(object) {
      // Defaults of the storage version apply first, before the conversion.
      const { object: stored } = coerce(object, { schema: storage.schema, kind, version: storage.version.name })
      applyDefaults(stored as unknown as JsonObject, storage.schema)
      return convert(stored, target)
    },
  }
}
