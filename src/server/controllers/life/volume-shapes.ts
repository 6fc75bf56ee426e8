/** Claims, volumes and storage classes, and which volume will do for which claim. Pure. */
import type { KubeObject } from '../../../kube/objects.ts'
import { nanosOf } from '../../../kube/quantities.ts'
import { labelSelectorFromObject } from '../../selectors.ts'

type Amounts = Readonly<Record<string, string>>

export interface Claim extends KubeObject {
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

export interface Volume extends KubeObject {
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

/** One that somebody has made wins over ours. */
export function defaultClass(classes: readonly StorageClass[]): StorageClass | undefined {
  const defaults = classes.filter(({ metadata }) => metadata.annotations?.[defaultClassAnnotation] === 'true')
  return defaults.find(({ metadata }) => metadata.name !== standardName) ?? defaults[0]
}

export function isBound({ spec, status }: Claim): boolean {
  return spec.volumeName !== undefined && status.phase === 'Bound'
}

export function isFor({ spec: { claimRef } }: Volume, { metadata }: Claim): boolean {
  if (claimRef?.name !== metadata.name || claimRef?.namespace !== metadata.namespace) return false
  return !claimRef?.uid || claimRef.uid === metadata.uid
}

/** The volume that was made for it; else the smallest that will do. */
export function chooseVolume(claim: Claim, volumes: readonly Volume[]): Volume | undefined {
  const own = volumes.find((volume) => isFor(volume, claim))
  if (own !== undefined || claim.spec.volumeName !== undefined) {
    return own ?? volumes.find(({ metadata, spec }) => metadata.name === claim.spec.volumeName && !spec.claimRef)
  }
  const size = ({ spec }: Volume) => nanosOf(spec.capacity?.['storage'])
  const [smallest] = volumes
    .filter((volume) => isSuitable(claim, volume))
    .sort((one, other) => Number(size(one) - size(other)) || (one.metadata.name! < other.metadata.name! ? -1 : 1))
  return smallest
}

function isSuitable({ spec }: Claim, { spec: volume, metadata }: Volume): boolean {
  if (volume.claimRef !== undefined || metadata.deletionTimestamp !== undefined) return false
  return (
    (volume.storageClassName ?? '') === (spec.storageClassName ?? '') &&
    (volume.volumeMode ?? 'Filesystem') === (spec.volumeMode ?? 'Filesystem') &&
    (spec.accessModes ?? []).every((mode) => volume.accessModes?.includes(mode)) &&
    nanosOf(volume.capacity?.['storage']) >= nanosOf(spec.resources?.requests?.['storage']) &&
    (spec.selector === undefined || labelSelectorFromObject(spec.selector).matches(metadata.labels ?? {}))
  )
}

/** A volume to be created, as a provisioner would for this claim. */
export function toVolume(claim: Claim, storageClass: StorageClass): KubeObject {
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

/** What there is where nobody has made one. */
export function toStandardClass(): KubeObject {
  const metadata = { name: standardName, annotations: { [defaultClassAnnotation]: 'true' } }
  return { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata, provisioner: 'kopf.dev/embedded' }
}
