/** What is served because of a CRD: one resource for each version that it serves. Called when a CRD is established or changed. */
import { formatGroupVersion, type JsonObject, type KubeObject } from '../../kube/objects.ts'
import type { ScalePaths, ServedResource, Subresource } from '../resource.ts'
import { applyDefaults } from '../schema/default.ts'
import { compileSchema, type SchemaNode } from '../schema/structural.ts'
import { notImplemented } from '../status.ts'
import { compileColumns } from '../tables/columns.ts'
import { type CrdNames, type CrdVersion, type CustomResourceDefinition, isConditionTrue } from './definition.ts'
import { findField } from './field-paths.ts'
import { compareKubeVersions } from './kube-versions.ts'
import { coerce, createCustomStrategy } from './strategy.ts'

/** In the order of the real server's discovery. */
const verbs: readonly string[] = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
const terminatingVerbs: readonly string[] = ['delete', 'deletecollection', 'get', 'list', 'watch']
const subresourceVerbs: readonly string[] = ['get', 'patch', 'update']

/** A version with its schema compiled. */
interface Compiled {
  readonly version: CrdVersion
  readonly schema: SchemaNode
}

export function crdResources(crd: CustomResourceDefinition): ServedResource[] {
  const versions = (crd.spec.versions ?? []).map((version) => ({ version, schema: compileVersion(version) }))
  const storage = versions.find(({ version }) => version.storage)
  if (!storage) return []
  return versions.filter(({ version }) => version.served).map((one) => createResource(crd, one, storage))
}

function compileVersion({ schema }: CrdVersion): SchemaNode {
  return compileSchema(schema?.openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
}

function createResource(crd: CustomResourceDefinition, compiled: Compiled, storage: Compiled): ServedResource {
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
    ...(compiled === storage ? {} : { conversion: createConversion(crd, compiled, storage, names.kind) }),
    strategy: createCustomStrategy({
      group: spec.group,
      version: version.name,
      kind: names.kind,
      schema,
      hasStatus: status !== undefined,
      scale: scale as ScalePaths | undefined,
      selectable: selectableOf(version),
      isStorage: compiled === storage,
    }),
    columns: compileColumns(version.additionalPrinterColumns ?? []),
    ...(warning === undefined ? {} : { warning }),
    ...(version.schema?.openAPIV3Schema ? { openapi: version.schema.openAPIV3Schema as JsonObject } : {}),
  }
}

/** Those that were accepted; a CRD is served under them even while it asks for others. */
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

/** With the strategy None, versions differ in `apiVersion` and in what their schemas prune. */
function createConversion(
  { spec }: CustomResourceDefinition,
  target: Compiled,
  storage: Compiled,
  kind: string,
): NonNullable<ServedResource['conversion']> {
  const convert = (object: KubeObject, { version, schema }: Compiled): KubeObject => {
    const apiVersion = formatGroupVersion(spec.group, version.name)
    if (spec.conversion?.strategy === 'Webhook' && object.apiVersion !== apiVersion) {
      throw notImplemented('conversion webhook not served yet')
    }
    return coerce({ ...object, apiVersion }, { schema, kind, version: version.name }).object
  }
  return {
    toStorage: (object) => convert(object, storage),
    fromStorage(object) {
      // Defaults are those of the stored version: they are filled in before it becomes another.
      const { object: stored } = coerce(object, { schema: storage.schema, kind, version: storage.version.name })
      applyDefaults(stored as unknown as JsonObject, storage.schema)
      return convert(stored, target)
    },
  }
}
