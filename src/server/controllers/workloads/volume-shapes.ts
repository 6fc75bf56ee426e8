/** Types of claims, volumes and storage classes, and the matching of volumes to claims. Pure. */
import type { KubeObject } from '../../../kube/objects.ts'
import { nanosOf } from '../../../kube/quantities.ts'
import type { Amounts } from '../../builtins/validation/shapes.ts'
import { labelSelectorFromObject } from '../../selectors.ts'

export interface PersistentVolumeClaim extends KubeObject {
  spec: {
    readonly accessModes?: readonly string[]
    readonly selector?: object
    readonly resources?: { readonly requests?: Amounts }
    readonly storageClassName?: string
    readonly volumeMode?: string
    readonly volumeName?: string
  }
  status: { readonly phase?: string; readonly capacity?: Amounts; readonly accessModes?: readonly string[] }
}

export interface PersistentVolume extends KubeObject {
  spec: {
    readonly capacity?: Amounts
    readonly accessModes?: readonly string[]
    readonly claimRef?: { readonly namespace?: string; readonly name?: string; readonly uid?: string }
    readonly persistentVolumeReclaimPolicy?: string
    readonly storageClassName?: string
    readonly volumeMode?: string
  }
  status: { readonly phase?: string }
}

export interface StorageClass extends KubeObject {
  readonly provisioner: string
  readonly reclaimPolicy?: string
  readonly volumeBindingMode?: string
  readonly mountOptions?: readonly string[]
}

const defaultClassAnnotation = 'storageclass.kubernetes.io/is-default-class'
const standardName = 'standard'

/** A default class created by the user takes precedence over the built-in class. */
export function defaultClass(classes: readonly StorageClass[]): StorageClass | undefined {
  const defaults = classes.filter(({ metadata }) => metadata.annotations?.[defaultClassAnnotation] === 'true')
  return defaults.find(({ metadata }) => metadata.name !== standardName) ?? defaults[0]
}

export function isBound({ spec, status }: PersistentVolumeClaim): boolean {
  return spec.volumeName !== undefined && status.phase === 'Bound'
}

export function isFor({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  if (claimRef?.name !== metadata.name || claimRef?.namespace !== metadata.namespace) return false
  return !claimRef?.uid || claimRef.uid === metadata.uid
}

/** The volume reserved for the claim, otherwise the smallest one that fits. */
export function chooseVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
): PersistentVolume | undefined {
  const own = volumes.find((volume) => isFor(volume, claim))
  if (own !== undefined || claim.spec.volumeName !== undefined) {
    return own ?? volumes.find(({ metadata, spec }) => metadata.name === claim.spec.volumeName && !spec.claimRef)
  }
  const size = ({ spec }: PersistentVolume) => nanosOf(spec.capacity?.['storage'])
  const [smallest] = volumes
    .filter((volume) => isSuitable(claim, volume))
    .sort((one, other) => Number(size(one) - size(other)) || (one.metadata.name! < other.metadata.name! ? -1 : 1))
  return smallest
}

function isSuitable({ spec }: PersistentVolumeClaim, { spec: volume, metadata }: PersistentVolume): boolean {
  if (volume.claimRef !== undefined || metadata.deletionTimestamp !== undefined) return false
  return (
    (volume.storageClassName ?? '') === (spec.storageClassName ?? '') &&
    (volume.volumeMode ?? 'Filesystem') === (spec.volumeMode ?? 'Filesystem') &&
    (spec.accessModes ?? []).every((mode) => volume.accessModes?.includes(mode)) &&
    nanosOf(volume.capacity?.['storage']) >= nanosOf(spec.resources?.requests?.['storage']) &&
    (spec.selector === undefined || labelSelectorFromObject(spec.selector).matches(metadata.labels ?? {}))
  )
}

/** A new volume, as a provisioner would create it for this claim. */
export function toVolume(claim: PersistentVolumeClaim, storageClass: StorageClass): KubeObject {
  const { name, namespace, uid, resourceVersion } = claim.metadata
  const volumeName = `pvc-${uid}`
  const { provisioner, reclaimPolicy = 'Delete', mountOptions } = storageClass
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: volumeName, annotations: { 'pv.kubernetes.io/provisioned-by': provisioner } },
    spec: {
      accessModes: claim.spec.accessModes,
      capacity: { storage: claim.spec.resources?.requests?.['storage'] },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid, resourceVersion },
      csi: { driver: provisioner.replaceAll('/', '.'), volumeHandle: volumeName },
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: storageClass.metadata.name,
      volumeMode: claim.spec.volumeMode,
      ...(mountOptions && { mountOptions }),
    },
  }
}

/** The default class, created if the cluster has none. */
export function toStandardClass(): KubeObject {
  const metadata = { name: standardName, annotations: { [defaultClassAnnotation]: 'true' } }
  return { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata, provisioner: 'kopf.dev/embedded' }
}
