/**
 * The objects of a dev session in its cluster: applies the CRDs of the operator when they have changed, the objects of files at the start and when a
 * file is saved, and reports existing objects that a changed CRD does not fit. Used by dev-session.ts, one call at a time.
 */
import { relative } from 'node:path'
import type { KubeObject } from '../../kube/objects.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import type { CommandCluster } from '../cluster.ts'
import { describeFailure } from '../exit.ts'
import { isCrd, type ManifestFile, orderManifests, readManifest, splitCrds } from '../read-manifests.ts'
import { type AppliedAction, AppliedObjects, applyManifests, deleteObjects } from './apply-manifests.ts'
import { describeMisfits } from './schema-check.ts'

export interface SessionObjectsOptions {
  readonly cluster: CommandCluster
  /** Absolute paths of files with objects. */
  readonly objectFiles: readonly string[]
  /** Whether objects that are removed from their file are deleted. */
  readonly deletes: boolean
  readonly folder: string
  readonly print: (line: string) => void
}

export class SessionObjects {
  readonly #options: SessionObjectsOptions
  #objects = new AppliedObjects()
  #appliedCrds = ''
  /** Whether the files were applied, with or without success. */
  #hasTried = false
  /** The failure of the last apply of all files. It is printed once. */
  #failure: string | undefined
  /** Objects of files that are not applied yet: an operator with webhooks has to be ready to review and convert them. */
  #waiting: { readonly isRetry: boolean } | undefined
  /** CRDs that were changed and are not compared with existing objects yet. */
  #changedCrds: KubeObject[] = []

  constructor(options: SessionObjectsOptions) {
    this.#options = options
  }

  /**
   * Applies the CRDs if they have changed; at the start also the CRDs in files, and again if that has failed and the CRDs have changed. The other objects of
   * files then wait for `applyWaiting`. A failure of files is printed, and does not stop the operator.
   */
  async applyCrds(own: readonly KubeObject[]): Promise<void> {
    const { cluster, objectFiles } = this.#options
    const text = toJsonText(own)
    const hasChanged = text !== this.#appliedCrds
    if (!hasChanged && this.#hasTried) return
    const manifests = await this.#read(objectFiles)
    const [crds, ...files] = orderManifests(own, manifests)
    if (hasChanged) await this.#applyOwn(crds!)
    this.#appliedCrds = text
    const isRetry = this.#hasTried
    if (isRetry && this.#failure === undefined) return
    this.#hasTried = true
    await this.#attempt(async () => {
      this.#printActions(await applyManifests(cluster, splitCrds(files).crds))
      this.#waiting = { isRetry }
    })
  }

  get isWaiting(): boolean {
    return this.#waiting !== undefined
  }

  /** Applies the objects of files that wait. */
  async applyWaiting(): Promise<void> {
    const waiting = this.#waiting
    if (waiting === undefined) return
    this.#waiting = undefined
    const { cluster, objectFiles } = this.#options
    await this.#attempt(async () => {
      const manifests = await this.#read(objectFiles)
      const { others } = splitCrds(waiting.isRetry ? manifests.map(namedOnly) : manifests)
      this.#printActions(await applyManifests(cluster, others))
      this.#objects.replace(manifests)
      this.#failure = undefined
    })
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const failure = describeFailure(error)
      if (failure !== this.#failure) this.#options.print(failure)
      this.#failure = failure
    }
  }

  /** Applies the files that were saved, and deletes the objects that are no longer in them. */
  async applyFiles(files: readonly string[]): Promise<void> {
    const { cluster, deletes } = this.#options
    const manifests = (await this.#read(files)).map(namedOnly)
    const before = (object: KubeObject) => this.#objects.before(object)
    this.#printActions(await applyManifests(cluster, orderManifests([], manifests), before))
    const missing = this.#objects.replace(manifests).filter((object) => !isCrd(object))
    if (deletes) this.#printActions(await deleteObjects(cluster, missing))
    this.#failure = undefined
  }

  /** Forgets all applied objects after the cluster was emptied, so that they are applied again. */
  reset(): void {
    this.#objects = new AppliedObjects()
    this.#appliedCrds = ''
    this.#hasTried = false
    this.#waiting = undefined
    this.#failure = undefined
    this.#changedCrds = []
  }

  /** Sentences about existing objects that do not fit the CRDs which have changed since the last call. */
  async findMisfits(): Promise<string[]> {
    const crds = this.#changedCrds
    this.#changedCrds = []
    const found: string[] = []
    for (const crd of crds) {
      // The check is an addition: a user without permissions gets none.
      const misfits = await describeMisfits(this.#options.cluster, crd).catch(() => undefined)
      if (misfits !== undefined) found.push(misfits)
    }
    return found
  }

  async #applyOwn(crds: ManifestFile): Promise<void> {
    const actions = await applyManifests(this.#options.cluster, [crds])
    this.#printActions(actions)
    const changed = new Set(
      actions.filter((action) => action.startsWith('changed ')).map((action) => action.split('/')[1]),
    )
    this.#changedCrds = crds.objects.filter((crd) => changed.has((crd as KubeObject).metadata.name)) as KubeObject[]
  }

  #read(files: readonly string[]): Promise<ManifestFile[]> {
    return Promise.all(files.map((file) => readManifest(relative(this.#options.folder, file))))
  }

  #printActions(actions: readonly AppliedAction[]): void {
    for (const action of actions) this.#options.print(action)
  }
}

/** Leaves out objects with `generateName`: each apply would create another one, and they were created at the start. */
function namedOnly({ objects, ...manifest }: ManifestFile): ManifestFile {
  const isNamed = (object: unknown) => (object as KubeObject | undefined)?.metadata?.name !== undefined
  return { ...manifest, objects: objects.filter(isNamed) }
}
