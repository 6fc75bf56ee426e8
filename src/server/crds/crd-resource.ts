/** The resource `customresourcedefinitions`. */
import type { KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import { builtinFieldTypes, Types } from '../builtins/types.ts'
import { subdomainNameProblems } from '../names.ts'
import { toFieldSet } from '../ownership/field-set.ts'
import { createOwnership } from '../ownership/ownership.ts'
import type { ApiResource, Column, Decoded, Strategy } from '../resource.ts'
import { applyStrategic } from '../strategic/apply.ts'
import { nameColumn } from '../tables/columns.ts'
import { descriptions } from '../tables/headers.generated.ts'
import { decodeCrd } from './decode.ts'
import { applyCrdDefaults } from './defaults.ts'
import type { CrdStatus, CustomResourceDefinition } from './definition.ts'
import { formatWarnings } from './format-warnings.ts'
import { terminatingStatus } from './status.ts'
import { validateCrd, validateCrdStatusUpdate, validateCrdUpdate } from './validate.ts'

export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io'

const createdAtColumn: Column = {
  name: 'Created At',
  type: 'date',
  format: '',
  description: descriptions.creationTimestamp,
  priority: 0,
  cell: ({ metadata }) => metadata.creationTimestamp ?? null,
}

function asCrd(object: KubeObject): CustomResourceDefinition {
  return object as CustomResourceDefinition
}

/** Adds the storage version to `status.storedVersions`, which lists every version that was ever stored. */
function addStoredVersion({ spec, status }: CustomResourceDefinition): void {
  const storage = spec.versions?.find((version) => version.storage)
  const stored = status.storedVersions ?? []
  if (storage && !stored.includes(storage.name)) status.storedVersions = [...stored, storage.name]
}

const emptyStatus = (): CrdStatus => ({
  conditions: null,
  acceptedNames: { plural: '', kind: '' },
  storedVersions: null,
})

const strategy: Strategy = {
  decode(body): Decoded {
    const decoded = decodeCrd(body)
    applyCrdDefaults(asCrd(decoded.object))
    return decoded
  },
  mergeStrategically: (current, patch) => {
    return applyStrategic(new Types(), 'apiextensions.v1.CustomResourceDefinition', current, patch)
  },
  nameProblems: subdomainNameProblems,
  prepareForCreate(object) {
    const crd = asCrd(object)
    crd.status = emptyStatus()
    crd.metadata.generation = 1
    addStoredVersion(crd)
  },
  prepareForUpdate(object, old) {
    const crd = asCrd(object)
    crd.status = { ...asCrd(old).status }
    if (!isDeepEqual(crd.spec, asCrd(old).spec)) crd.metadata.generation = (old.metadata.generation ?? 0) + 1
    addStoredVersion(crd)
  },
  /** Metadata is not restored: for CRDs, a status update can change it in the real server, too. */
  prepareForStatusUpdate(object, old) {
    object['spec'] = old['spec']
  },
  /** The finalizer holds the CRD until its last object is deleted. */
  markDeleting(object, now) {
    const crd = asCrd(object)
    const { finalizers = [] } = crd.metadata
    if (!finalizers.includes(cleanupFinalizer)) crd.metadata.finalizers = [...finalizers, cleanupFinalizer]
    crd.status = terminatingStatus(crd.status, new Date(now))
  },
  returnsDeletedObject: true,
  allowsUnconditionalUpdate: false,
  warnings: (object, old) => formatWarnings(asCrd(object), old && asCrd(old)),
  validate: validateCrd,
  validateUpdate: validateCrdUpdate,
  validateStatusUpdate: validateCrdStatusUpdate,
}

const type = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' }

export const crdDefinitionResource: ApiResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  singular: 'customresourcedefinition',
  kind: 'CustomResourceDefinition',
  listKind: 'CustomResourceDefinitionList',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  namespaced: false,
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: [
    {
      name: 'status',
      kind: 'CustomResourceDefinition',
      group: 'apiextensions.k8s.io',
      version: 'v1',
      verbs: ['get', 'patch', 'update'],
    },
  ],
  collection: 'customresourcedefinitions.apiextensions.k8s.io',
  omitsTypeInLists: true,
  strategy,
  fields: {
    ownership: createOwnership({
      apiVersion: type.apiVersion,
      type: () => builtinFieldTypes.named('apiextensions.v1.CustomResourceDefinition'),
      resets: (subresource) => toFieldSet([subresource === 'status' ? 'f:spec' : 'f:status']),
    }),
    blank: { ...decodeCrd({ ...type, metadata: {} }).object, status: emptyStatus() },
  },
  columns: [nameColumn, createdAtColumn],
}
