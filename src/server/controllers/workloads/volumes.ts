/**
 * Binds claims to an existing volume that fits, or to a volume provisioned by their storage class. A provisioned volume is
 * deleted with its claim unless its reclaim policy is Retain.
 */
import type { ServerContext } from '../../call.ts'
import { serviceAccount } from '../call-as.ts'
import { ObjectWriter } from './object-writer.ts'
import { isFinished } from './pods-of-sets.ts'
import { find, findByKey, follow, list, read } from './reading.ts'
import type { Pod } from './shapes.ts'
import {
  chooseVolume,
  defaultClass,
  isBound,
  isFor,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
  toStandardClass,
  toVolume,
} from './volume-shapes.ts'
import { WorkQueue } from './work-queue.ts'

const claims = 'persistentvolumeclaims'
const volumes = 'persistentvolumes'
const classes = 'storage.k8s.io/storageclasses'
const boundByController = 'pv.kubernetes.io/bound-by-controller'

export class VolumeController {
  readonly #parts: ServerContext
  readonly #writer: ObjectWriter
  readonly #claims: WorkQueue

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#writer = new ObjectWriter(parts, serviceAccount('persistent-volume-binder'))
    this.#claims = new WorkQueue(parts, (key) => this.#syncClaim(key), 'volumes')
    const volumeQueue = new WorkQueue(
      parts,
      (name) => (name === '' ? this.#createClass() : this.#syncVolume(name)),
      'volumes',
    )
    volumeQueue.add('')
    follow(parts, claims, ({ current }) => {
      this.#claims.add(current.key)
      const { volumeName } = read<PersistentVolumeClaim>(current).spec
      if (volumeName !== undefined) volumeQueue.add(volumeName)
    })
    follow(parts, volumes, ({ current }) => {
      volumeQueue.add(current.name)
      this.#enqueueUnbound('')
    })
    follow(parts, classes, () => this.#enqueueUnbound(''))
    follow(parts, 'pods', ({ type, current }) => type === 'ADDED' && this.#enqueueUnbound(current.namespace))
  }

  #enqueueUnbound(namespace: string): void {
    for (const { key } of this.#parts.store.collection(claims).list(namespace)) {
      if (!isBound(findByKey<PersistentVolumeClaim>(this.#parts, claims, key)!)) this.#claims.add(key)
    }
  }

  async #createClass(): Promise<void> {
    const there = list<StorageClass>(this.#parts, classes, '')
    if (there.length === 0) await this.#writer.create(toStandardClass())
  }

  async #syncClaim(key: string): Promise<void> {
    const found = findByKey<PersistentVolumeClaim>(this.#parts, claims, key)
    if (found === undefined || found.metadata.deletionTimestamp !== undefined || isBound(found)) return
    const claim = await this.#classify(found)
    const volume =
      chooseVolume(claim, list<PersistentVolume>(this.#parts, volumes, '')) ?? (await this.#provision(claim))
    if (volume !== undefined) await this.#bind(key, volume)
  }

  /** A claim without a class name gets the default class as soon as there is one. */
  async #classify(claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim> {
    if (claim.spec.storageClassName !== undefined) return claim
    const byDefault = defaultClass(list<StorageClass>(this.#parts, classes, ''))
    if (byDefault === undefined) return claim
    return this.#writer.update({ ...claim, spec: { ...claim.spec, storageClassName: byDefault.metadata.name! } })
  }

  async #provision(claim: PersistentVolumeClaim): Promise<PersistentVolume | undefined> {
    const storageClass = find<StorageClass>(this.#parts, classes, '', claim.spec.storageClassName ?? '')
    if (storageClass === undefined || storageClass.provisioner === 'kubernetes.io/no-provisioner') return undefined
    if (storageClass.volumeBindingMode === 'WaitForFirstConsumer' && !this.#hasConsumer(claim)) return undefined
    return this.#writer.create<PersistentVolume>(toVolume(claim, storageClass))
  }

  #hasConsumer({ metadata }: PersistentVolumeClaim): boolean {
    return list<Pod>(this.#parts, 'pods', metadata.namespace!).some(
      (pod) =>
        !isFinished(pod) &&
        pod.spec.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === metadata.name),
    )
  }

  /** Updates the volume before the claim, so that an interrupted binding is found again. */
  async #bind(key: string, volume: PersistentVolume): Promise<void> {
    const claim = findByKey<PersistentVolumeClaim>(this.#parts, claims, key)
    if (claim === undefined) return
    const provisioner = volume.metadata.annotations?.['pv.kubernetes.io/provisioned-by']
    const reserved = await this.#reserve(claim, volume)
    await this.#writer.updateStatus(reserved, { ...reserved.status, phase: 'Bound' })
    const annotations = {
      ...claim.metadata.annotations,
      ...(provisioner && {
        'volume.beta.kubernetes.io/storage-provisioner': provisioner,
        'volume.kubernetes.io/storage-provisioner': provisioner,
      }),
      'pv.kubernetes.io/bind-completed': 'yes',
      [boundByController]: 'yes',
    }
    const bound = await this.#writer.update({
      ...claim,
      metadata: { ...claim.metadata, annotations },
      spec: { ...claim.spec, volumeName: volume.metadata.name! },
    })
    const { accessModes, capacity } = volume.spec
    await this.#writer.updateStatus(bound, { ...bound.status, phase: 'Bound', accessModes, capacity })
  }

  async #reserve(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<PersistentVolume> {
    const { name, namespace, uid, resourceVersion } = claim.metadata
    if (volume.spec.claimRef?.uid === uid) return volume
    const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid, resourceVersion }
    const isWished = volume.spec.claimRef !== undefined
    const annotations = { ...volume.metadata.annotations, ...(!isWished && { [boundByController]: 'yes' }) }
    const desired = { ...volume, metadata: { ...volume.metadata, annotations }, spec: { ...volume.spec, claimRef } }
    return this.#writer.update(desired as PersistentVolume)
  }

  async #syncVolume(name: string): Promise<void> {
    const volume = findByKey<PersistentVolume>(this.#parts, volumes, name)
    if (volume === undefined || volume.metadata.deletionTimestamp !== undefined) return
    const { claimRef, persistentVolumeReclaimPolicy } = volume.spec
    const claim =
      claimRef && find<PersistentVolumeClaim>(this.#parts, claims, claimRef.namespace ?? '', claimRef.name ?? '')
    if (!claimRef?.uid) return this.#setPhase(volume, 'Available')
    if (claim !== undefined && isFor(volume, claim)) return
    await this.#setPhase(volume, 'Released')
    const released = findByKey<PersistentVolume>(this.#parts, volumes, name)
    if (persistentVolumeReclaimPolicy === 'Delete' && released !== undefined) await this.#writer.delete(released)
  }

  async #setPhase(volume: PersistentVolume, phase: string): Promise<void> {
    if (volume.status.phase !== phase) await this.#writer.updateStatus(volume, { ...volume.status, phase })
  }
}
