/** Creates the CRD of a resource from `defineResource`, with one or several versions, for `kopf crd`, `kopf dev` and tests. */
import { KopfError } from '../../errors.ts'
import type { KubeObject } from '../objects.ts'
import type { CustomResource } from '../resources/resources.ts'
import { compareKubeVersions } from './kube-versions.ts'
import { toObjectSchema } from './object-schema.ts'
import { toJsonPath, toPrinterColumns } from './printer-columns.ts'
import type { Schema } from './structural-schema.ts'
import type { CelRule, ScaleFields } from './version-options.ts'

type AnyResource = CustomResource<object>

/**
 * Creates the CRD (`apiextensions.k8s.io/v1`) of a resource. The version with `storage: true` is the storage version, or else the first
 * definition; further versions are served too, and need conversion handlers (`on.convert`) if their schemas differ. Throws a `KopfError`
 * (`KOPF_CRD`) for versions that do not fit together.
 *
 * @example
 * ```ts
 * await client.apply(toCrd(Database))
 * ```
 */
export function toCrd(definition: CustomResource<object>, ...versions: readonly CustomResource<object>[]): KubeObject {
  const all = [definition, ...versions]
  checkVersions(all)
  const stored = storedVersion(all)
  const { group, plural, scope } = definition
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      ...unlessEmpty({ labels: Object.assign({}, ...all.map(({ labels }) => labels)) }),
      ...unlessEmpty({ annotations: Object.assign({}, ...all.map(({ annotations }) => annotations)) }),
    },
    spec: {
      group,
      scope,
      names: toNames(all),
      versions: all.map((version) => toVersion(version, version === stored)),
    },
  }
}

/** One CRD per resource, with all its versions. The version with the highest Kubernetes priority is the storage version by default. */
export function toCrds(definitions: readonly CustomResource<object>[]): KubeObject[] {
  const byName = new Map<string, AnyResource[]>()
  for (const definition of definitions) {
    const name = `${definition.plural}.${definition.group}`
    byName.set(name, [...(byName.get(name) ?? []), definition])
  }
  return [...byName.values()].map((versions) => {
    const [first, ...others] = versions.toSorted((a, b) => compareKubeVersions(b.version, a.version))
    return toCrd(first!, ...others)
  })
}

function checkVersions([definition, ...others]: readonly AnyResource[]): void {
  const { plural, kind, version } = definition!
  if (kind === undefined || plural === undefined) {
    throw new KopfError(
      'KOPF_CRD',
      'Cannot create the CRD of a resource that has only a name: define the resource with defineResource',
    )
  }
  const names = new Set([version])
  for (const other of others) {
    const problem = findMismatch(definition!, other, names)
    if (problem !== undefined) failVersions(definition!, problem)
    names.add(other.version)
  }
}

/** The names of all versions are the same in a CRD, and so is the scope. */
function findMismatch(first: AnyResource, other: AnyResource, names: ReadonlySet<string>): string | undefined {
  const { group, plural, kind, version } = other
  if (group !== first.group || plural !== first.plural || kind !== first.kind)
    return `${plural}.${group} is another resource; create its CRD separately`
  if (names.has(version)) return `the version ${version} is given twice; remove one of them`
  const differing = (['scope', 'singular', 'listKind'] as const).find((name) => other[name] !== first[name])
  if (differing === undefined) return undefined
  return `the ${differing} of ${first.version} is "${first[differing]}", that of ${version} is "${other[differing]}"`
}

/** The version in which objects are stored: the one that says so, otherwise the first one. */
function storedVersion(versions: readonly AnyResource[]): AnyResource {
  const chosen = versions.filter(({ storage }) => storage === true)
  if (chosen.length > 1) {
    const names = chosen.map(({ version }) => version).join(' and ')
    failVersions(chosen[0]!, `${names} have "storage: true"; set it for one version only`)
  }
  const stored = chosen[0] ?? versions.find(({ storage }) => storage !== false)
  return (
    stored ??
    failVersions(
      versions[0]!,
      'every version has "storage: false"; remove it from the version in which objects are stored',
    )
  )
}

function failVersions({ plural, group }: AnyResource, why: string): never {
  throw new KopfError('KOPF_CRD', `Cannot create one CRD for the versions of ${plural}.${group}: ${why}`)
}

/** Short names and categories of all versions are merged. */
function toNames(versions: readonly AnyResource[]): Schema {
  const { kind, plural, singular, listKind = `${kind}List` } = versions[0]!
  return {
    ...{ kind, listKind, plural, singular },
    ...unlessEmpty({ shortNames: [...new Set(versions.flatMap(({ shortNames }) => shortNames))] }),
    ...unlessEmpty({ categories: [...new Set(versions.flatMap(({ categories }) => categories))] }),
  }
}

function toVersion(definition: AnyResource, isStored: boolean): Schema {
  const { version, served = true, deprecated = false, printerColumns, rules = [], selectableFields = [] } = definition
  const schema = toObjectSchema(definition)
  return {
    ...{ name: version, served, storage: isStored },
    ...(deprecated === false ? {} : { deprecated: true }),
    ...(typeof deprecated === 'string' ? { deprecationWarning: deprecated } : {}),
    ...unlessEmpty({ additionalPrinterColumns: toPrinterColumns(printerColumns, schema) }),
    ...unlessEmpty({ selectableFields: selectableFields.map((path) => ({ jsonPath: toJsonPath(path) })) }),
    schema: { openAPIV3Schema: { ...schema, ...unlessEmpty({ 'x-kubernetes-validations': rules.map(toRule) }) } },
    ...unlessEmpty({ subresources: toSubresources(definition) }),
  }
}

function toRule({ fieldPath, ...rule }: CelRule): Schema {
  return { ...rule, ...(fieldPath === undefined ? {} : { fieldPath: toJsonPath(fieldPath) }) }
}

function toSubresources({ status, scale }: AnyResource): Schema {
  return {
    ...(status === undefined ? {} : { status: {} }),
    ...(scale === undefined ? {} : { scale: toScale(scale) }),
  }
}

function toScale({ specReplicas, statusReplicas, selector }: ScaleFields): Schema {
  return {
    specReplicasPath: toJsonPath(specReplicas),
    statusReplicasPath: toJsonPath(statusReplicas),
    ...(selector === undefined ? {} : { labelSelectorPath: toJsonPath(selector) }),
  }
}

/** The API server does not store empty lists and maps, and `kopf crd --check` compares with the stored CRD. */
function unlessEmpty(field: Readonly<Record<string, object>>): object {
  return Object.values(field).every((value) => Object.keys(value).length === 0) ? {} : field
}
