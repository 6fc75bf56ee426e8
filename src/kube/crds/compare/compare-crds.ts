/**
 * Compares two CRDs and says for each difference whether it is breaking, by the same rules as crdify. Called by `kopf crd --check`. Ignores fields that
 * the API server sets, and `spec.conversion`, which operators write at run time. Pure.
 */
import { isDeepEqual } from '../../../util/json/deep-equal.ts'
import { getObject, getObjects, getOwn, getString, getStrings, type Json } from '../../../util/json/json.ts'
import type { KubeObject } from '../../objects.ts'
import { compareSchemas } from './compare-schemas.ts'
import { breaking, type CrdDifference, compatible, type Judgement } from './crd-difference.ts'

type CrdFields = { readonly [key: string]: Json }

/** Compares an existing CRD with its replacement. The differences of the whole CRD come first, then those of each version. */
export function compareCrds(existing: KubeObject, desired: KubeObject): CrdDifference[] {
  const [before, after] = [specOf(existing), specOf(desired)]
  return [...compareSpecs(before, after), ...compareVersions(before, after, storedVersionsOf(existing))]
}

/** The difference between no CRD and a CRD. */
export const newCrd: CrdDifference = {
  version: undefined,
  path: '',
  property: 'crd',
  change: 'added',
  ...compatible('the CRD is new'),
}

/** The versions in which objects may be stored, as far as the CRD has a status. */
export function storedVersionsOf({ status }: KubeObject): readonly string[] {
  return getStrings((status ?? {}) as CrdFields, 'storedVersions')
}

function specOf({ spec }: KubeObject): CrdFields {
  return (spec ?? {}) as CrdFields
}

const otherName = breaking('the API server refuses the change; objects and clients of the old name stay behind')
const onlyKubectl = compatible('only the names for kubectl differ')

/** Fields of the spec and of `spec.names`, with the judgement on any change. */
const specFields: Readonly<Record<string, Judgement>> = {
  'spec.group': otherName,
  'spec.scope': breaking('the API server refuses the change; objects of the old scope stay behind'),
  'spec.names.plural': otherName,
  'spec.names.kind': breaking('objects and manifests of the old kind are refused'),
  'spec.names.listKind': breaking('typed clients read another kind of list'),
  'spec.names.singular': onlyKubectl,
  'spec.names.shortNames': onlyKubectl,
  'spec.names.categories': onlyKubectl,
  'spec.preserveUnknownFields': breaking(
    'fields that are not in the schema are dropped at the next write of an object',
  ),
}

function compareSpecs(before: CrdFields, after: CrdFields): CrdDifference[] {
  const [old, current] = [flatSpec(before), flatSpec(after)]
  const paths = [...new Set([...Object.keys(old), ...Object.keys(current)])]
  return paths
    .filter((path) => !isDeepEqual(old[path], current[path]))
    .map((path) => ({
      version: undefined,
      path,
      property: '',
      before: old[path],
      after: current[path],
      ...(getOwn(specFields, path) ?? unknownField),
    }))
}

const unknownField = breaking('the effect of this field is not known to kopf; review it')

/** The fields of the spec apart from versions and conversion, with the defaults of the API server. */
function flatSpec(spec: CrdFields): Record<string, Json | undefined> {
  const { versions: _, conversion: __, names: ___, preserveUnknownFields, ...rest } = spec
  const names = getObject(spec, 'names') ?? {}
  const kind = getString(names, 'kind')
  const defaults = kind === undefined ? {} : { singular: kind.toLowerCase(), listKind: `${kind}List` }
  return {
    ...prefixed('spec', rest),
    ...prefixed('spec.names', { ...defaults, ...withoutEmpty(names) }),
    ...(preserveUnknownFields === true ? { 'spec.preserveUnknownFields': true } : {}),
  }
}

function prefixed(prefix: string, fields: CrdFields): Record<string, Json | undefined> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [`${prefix}.${key}`, value]))
}

function withoutEmpty(fields: CrdFields): CrdFields {
  const isEmpty = (value: Json) => value === '' || value === null || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)))
}

/** Versions are identified by name: their order has no meaning. */
function compareVersions(before: CrdFields, after: CrdFields, stored: readonly string[]): CrdDifference[] {
  const [old, current] = [versionsOf(before), versionsOf(after)]
  const removed = [...old]
    .filter(([name]) => !current.has(name))
    .map(([name, version]) => removal(name, version, stored.includes(name)))
  const others = [...current].flatMap(([name, version]) => {
    const known = old.get(name)
    return known === undefined ? [addition(name)] : compareVersion(name, known, version)
  })
  return [...removed, ...others]
}

function versionsOf(spec: CrdFields): ReadonlyMap<string, CrdFields> {
  return new Map(getObjects(spec, 'versions').map((version) => [String(version['name']), version]))
}

function removal(name: string, version: CrdFields, isStored: boolean): CrdDifference {
  const judgement = isStored
    ? breaking('objects may be stored in it, so the API server refuses the change; run `npx kopf crd migrate` first')
    : version['served'] === true
      ? breaking('clients of this version get errors')
      : compatible('it was not served')
  return { version: name, path: '', property: 'version', change: 'removed', ...judgement }
}

function addition(name: string): CrdDifference {
  return {
    version: name,
    path: '',
    property: 'version',
    change: 'added',
    ...compatible('clients of the other versions are not affected'),
  }
}

function compareVersion(name: string, before: CrdFields, after: CrdFields): CrdDifference[] {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((field) => !handled.has(field))
  const changed = fields
    .map((field) => ({ field, before: flagless(before[field]), after: flagless(after[field]) }))
    .filter((values) => !isDeepEqual(values.before, values.after))
    .map(({ field, ...values }) => ({
      version: name,
      path: '',
      property: field,
      ...values,
      ...(getOwn(versionFields, field)?.(values.after) ?? unknownField),
    }))
  return [
    ...changed,
    ...compareSubresources(name, before, after),
    ...compareSelectableFields(name, before, after),
    ...compareSchemas(name, schemaOf(before), schemaOf(after)),
  ]
}

/** Fields of a version that are compared in detail. */
const handled: ReadonlySet<string> = new Set(['name', 'schema', 'subresources', 'selectableFields'])

/** `false` and an empty list mean the same as no value. */
function flagless(value: Json | undefined): Json | undefined {
  return value === false || value === null || (Array.isArray(value) && value.length === 0) ? undefined : value
}

const versionFields: Readonly<Record<string, (after: Json | undefined) => Judgement>> = {
  served: (after) =>
    after === true ? compatible('clients can use this version') : breaking('clients of this version get errors'),
  storage: (after) =>
    after === true
      ? compatible(
          'objects are stored in this version from their next write on; `npx kopf crd migrate` rewrites them all',
        )
      : compatible('objects are stored in another version from their next write on'),
  deprecated: () => compatible('only warnings to clients differ'),
  deprecationWarning: () => compatible('only warnings to clients differ'),
  additionalPrinterColumns: () => compatible('only the columns of `kubectl get` differ'),
}

function compareSubresources(version: string, before: CrdFields, after: CrdFields): CrdDifference[] {
  const [old, current] = [getObject(before, 'subresources') ?? {}, getObject(after, 'subresources') ?? {}]
  return [...new Set([...Object.keys(old), ...Object.keys(current)])].flatMap((name): CrdDifference[] => {
    const place = { version, path: `subresources.${name}` }
    const [one, other] = [old[name] ?? undefined, current[name] ?? undefined]
    if (other === undefined && one !== undefined)
      return [{ ...place, property: 'subresource', change: 'removed', ...breaking(`requests to /${name} get errors`) }]
    if (one === undefined && other !== undefined)
      return [{ ...place, property: 'subresource', change: 'added', ...judgeAddedSubresource(name) }]
    if (isDeepEqual(one, other)) return []
    return [{ ...place, property: '', before: one, after: other, ...breaking('autoscalers read other fields') }]
  })
}

function judgeAddedSubresource(name: string): Judgement {
  return name === 'status'
    ? breaking('a status that clients write together with the rest of the object is ignored')
    : compatible('clients can use it')
}

function compareSelectableFields(version: string, before: CrdFields, after: CrdFields): CrdDifference[] {
  const pathsOf = (fields: CrdFields) =>
    new Set(getObjects(fields, 'selectableFields').map(({ jsonPath }) => String(jsonPath)))
  const [old, current] = [pathsOf(before), pathsOf(after)]
  const difference = (jsonPath: string, change: 'added' | 'removed', judgement: Judgement): CrdDifference => ({
    version,
    path: jsonPath,
    property: 'selectable field',
    change,
    ...judgement,
  })
  const removed = [...old].filter((path) => !current.has(path))
  const added = [...current].filter((path) => !old.has(path))
  return [
    ...removed.map((path) => difference(path, 'removed', breaking('field selectors with it get errors'))),
    ...added.map((path) => difference(path, 'added', compatible('clients can select objects by it'))),
  ]
}

function schemaOf(version: CrdFields): CrdFields {
  return getObject(getObject(version, 'schema') ?? {}, 'openAPIV3Schema') ?? {}
}
