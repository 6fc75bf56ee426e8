/**
 * The CRD controller: checks the names of a CRD, serves its resources, and deletes its objects before a deleted CRD is removed.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type { ServerContext } from '../call.ts'
import { cleanupFinalizer, crdDefinitionResource } from '../crds/crd-resource.ts'
import { type CustomResourceDefinition, isConditionTrue } from '../crds/definition.ts'
import { crdResources, crdStoredVersionResources } from '../crds/resources.ts'
import { crdStatus, instancesStatus } from '../crds/status.ts'
import { parseStored, type StoreChange, type Stored } from '../storage/stored.ts'
import { updateObject } from '../verbs/change.ts'
import { serverManager } from '../verbs/owning.ts'
import { deleteObject } from '../verbs/remove.ts'
import { plainDeletion } from './garbage.ts'
import { MicrotaskQueue } from './microtask-queue.ts'

const { collection } = crdDefinitionResource

export class CrdController {
  readonly #parts: ServerContext

  /** Spec and accepted names from which each CRD is served, as JSON. Other changes of a CRD do not restart its resources. */
  readonly #served = new Map<string, string>()

  /** Cache of the names, group and conditions of each CRD revision that was compared with others. */
  readonly #names = new WeakMap<Stored, CustomResourceDefinition>()

  /** CRDs being deleted, keyed by the collection of their objects. */
  readonly #terminating = new Map<string, string>()
  readonly #pending: MicrotaskQueue<string>

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#pending = new MicrotaskQueue(parts, 'customresourcedefinition-controller', (name) => this.#reconcile(name))
    parts.store.subscribe(undefined, (change) => this.#handleChange(change))
  }

  #handleChange({ type, current }: StoreChange): void {
    if (current.collection === collection) {
      if (type === 'DELETED') this.#remove(current)
      else this.#pending.add(current.name)
      return
    }
    const crd = this.#terminating.get(current.collection)
    if (crd === undefined || type !== 'DELETED') return
    if (this.#parts.store.collection(current.collection).size === 0) this.#pending.add(crd)
  }

  #reconcile(name: string): void {
    const stored = this.#parts.store.collection(collection).get(name)
    if (stored === undefined) return
    const crd = parseStored(stored) as CustomResourceDefinition
    if (crd.metadata.deletionTimestamp === undefined) this.#updateNames(stored, crd)
    else this.#deleteInstances(crd)
    this.#serve(name)
  }

  #updateNames(stored: Stored, crd: CustomResourceDefinition): void {
    const others = isDeepEqual(crd.spec.names, crd.status.acceptedNames) ? [] : this.#crdsOfGroup(crd)
    const status = crdStatus(crd, others, new Date(this.#parts.clock.now()))
    if (status !== crd.status) this.#update(stored.name, 'status', (object) => ({ ...object, status }))
  }

  /** The CRDs of the same group, reduced to the fields that decide name conflicts. Each revision of a CRD is parsed once. */
  #crdsOfGroup({ spec }: CustomResourceDefinition): CustomResourceDefinition[] {
    const found: CustomResourceDefinition[] = []
    for (const stored of this.#parts.store.collection(collection).values()) {
      // The name of a CRD is `<plural>.<group>`.
      if (!stored.name.endsWith(`.${spec.group}`)) continue
      const known = this.#names.get(stored) ?? namesOf(stored)
      this.#names.set(stored, known)
      found.push(known)
    }
    return found
  }

  #serve(name: string): void {
    const stored = this.#parts.store.collection(collection).get(name)
    if (stored === undefined) return
    const crd = parseStored(stored) as CustomResourceDefinition
    if (!isConditionTrue(crd, 'Established')) return
    const isTerminating = isConditionTrue(crd, 'Terminating')
    const state = JSON.stringify([crd.spec, crd.status.acceptedNames, isTerminating])
    if (this.#served.get(name) === state) return
    this.#served.set(name, state)
    this.#parts.registry.set(name, crdResources(crd, this.#parts), crdStoredVersionResources(crd))
    // As in the real server, watches of the old schema end and clients reconnect with the new one.
    this.#parts.watches.endAll(objectsOf(crd))
  }

  #deleteInstances(crd: CustomResourceDefinition): void {
    const objects = objectsOf(crd)
    this.#terminating.set(objects, crd.metadata.name!)
    const resource = this.#parts.registry.storageOf(objects)
    const present = resource === undefined ? [] : this.#parts.store.collection(objects).list('')
    for (const stored of present) {
      const current = this.#parts.store.collection(objects).get(stored.key)
      if (current === undefined || current.isDeleting) continue
      deleteObject(this.#parts, this.#parts.registry.resourceForStoredVersion(current)!, current, plainDeletion)
    }
    const isEmpty = resource === undefined || this.#parts.store.collection(objects).size === 0
    const now = new Date(this.#parts.clock.now())
    this.#update(crd.metadata.name!, 'status', (object) => ({
      ...object,
      status: instancesStatus((object as CustomResourceDefinition).status, isEmpty, now),
    }))
    if (isEmpty) this.#release(crd.metadata.name!)
  }

  #release(name: string): void {
    this.#update(name, '', (object) => {
      const finalizers = (object.metadata.finalizers ?? []).filter((one) => one !== cleanupFinalizer)
      return { ...object, metadata: { ...object.metadata, finalizers } }
    })
  }

  #remove({ name, json }: Stored): void {
    const objects = objectsOf(JSON.parse(json) as CustomResourceDefinition)
    this.#served.delete(name)
    this.#terminating.delete(objects)
    this.#parts.registry.delete(name)
    this.#parts.watches.endAll(objects)
  }

  #update(name: string, part: '' | 'status', change: (object: KubeObject) => KubeObject): void {
    const current = this.#parts.store.collection(collection).get(name)
    if (current === undefined) return
    updateObject(this.#parts, crdDefinitionResource, current, { change, part, dryRun: false, manager: serverManager })
  }
}

function namesOf(stored: Stored): CustomResourceDefinition {
  const { apiVersion, kind, metadata, spec, status } = parseStored(stored) as CustomResourceDefinition
  // Drops the schemas, which are nearly all of a CRD.
  return { apiVersion, kind, metadata, status, spec: { ...spec, versions: [] } } as CustomResourceDefinition
}

function objectsOf({ spec }: CustomResourceDefinition): string {
  return `${spec.names.plural}.${spec.group}`
}
