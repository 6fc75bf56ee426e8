/** What follows from a CRD: its names are judged, its resources served, and on its deletion its objects go first. */
import type { KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/equality.ts'
import type { Parts } from '../call.ts'
import { cleanupFinalizer, crdDefinitionResource } from '../crds/crd-resource.ts'
import { type CustomResourceDefinition, isConditionTrue } from '../crds/definition.ts'
import { crdKeepers, crdResources } from '../crds/resources.ts'
import { crdStatus, instancesStatus } from '../crds/status.ts'
import { type Change, parseStored, type Stored } from '../storage/stored.ts'
import { updateObject } from '../verbs/change.ts'
import { serverManager } from '../verbs/owning.ts'
import { deleteObject } from '../verbs/remove.ts'
import { FollowUp } from './follow-up.ts'
import { plainDeletion } from './garbage.ts'

const { collection } = crdDefinitionResource

export class CrdKeeper {
  readonly #parts: Parts

  /** What each CRD was served from: the spec and names as text, so that a change of nothing else disturbs nobody. */
  readonly #served = new Map<string, string>()

  /** Names, group and conditions of each state of a CRD that was compared with others. */
  readonly #names = new WeakMap<Stored, CustomResourceDefinition>()

  /** The CRDs being deleted, by the collection of their objects. */
  readonly #terminating = new Map<string, string>()
  readonly #pending: FollowUp<string>

  constructor(parts: Parts) {
    this.#parts = parts
    this.#pending = new FollowUp(parts, 'customresourcedefinition-controller', (name) => this.#tend(name))
    parts.store.subscribe(undefined, (change) => this.#hear(change))
  }

  #hear({ type, current }: Change): void {
    if (current.collection === collection) {
      if (type === 'DELETED') this.#forget(current)
      else this.#pending.add(current.name)
      return
    }
    const crd = this.#terminating.get(current.collection)
    if (crd === undefined || type !== 'DELETED') return
    if (this.#parts.store.collection(current.collection).size === 0) this.#pending.add(crd)
  }

  #tend(name: string): void {
    const stored = this.#parts.store.collection(collection).get(name)
    if (stored === undefined) return
    const crd = parseStored(stored) as CustomResourceDefinition
    if (crd.metadata.deletionTimestamp === undefined) this.#judge(stored, crd)
    else this.#clean(crd)
    this.#serve(name)
  }

  #judge(stored: Stored, crd: CustomResourceDefinition): void {
    const others = isDeepEqual(crd.spec.names, crd.status.acceptedNames) ? [] : this.#rivalsOf(crd)
    const status = crdStatus(crd, others, new Date(this.#parts.clock.now()))
    if (status !== crd.status) this.#update(stored.name, 'status', (object) => ({ ...object, status }))
  }

  /** The CRDs of the same group, with the fields that decide about names. Each state of a CRD is parsed once. */
  #rivalsOf({ spec }: CustomResourceDefinition): CustomResourceDefinition[] {
    const rivals: CustomResourceDefinition[] = []
    for (const stored of this.#parts.store.collection(collection).values()) {
      // The name of a CRD is that of its resource, a dot and its group.
      if (!stored.name.endsWith(`.${spec.group}`)) continue
      const known = this.#names.get(stored) ?? namesOf(stored)
      this.#names.set(stored, known)
      rivals.push(known)
    }
    return rivals
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
    this.#parts.registry.set(name, crdResources(crd, this.#parts), crdKeepers(crd))
    // As the real server does: watches of the old schema end, and come back to the new one.
    this.#parts.watches.endAll(objectsOf(crd))
  }

  #clean(crd: CustomResourceDefinition): void {
    const objects = objectsOf(crd)
    this.#terminating.set(objects, crd.metadata.name!)
    const resource = this.#parts.registry.storageOf(objects)
    const present = resource === undefined ? [] : this.#parts.store.collection(objects).list('')
    for (const stored of present) {
      const current = this.#parts.store.collection(objects).get(stored.key)
      if (current === undefined || current.isDeleting) continue
      deleteObject(this.#parts, this.#parts.registry.keeperOf(current)!, current, plainDeletion)
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

  #forget({ name, json }: Stored): void {
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
  // Without the schemas, which are nearly all of a CRD.
  return { apiVersion, kind, metadata, status, spec: { ...spec, versions: [] } } as CustomResourceDefinition
}

function objectsOf({ spec }: CustomResourceDefinition): string {
  return `${spec.names.plural}.${spec.group}`
}
