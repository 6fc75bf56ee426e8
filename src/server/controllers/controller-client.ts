/**
 * The client with which controllers write objects that webhooks may review. Without matching webhooks it writes synchronously,
 * otherwise after the webhooks allow it. Webhooks see the controller's service account as the user. A rejected write is retried
 * with exponential backoff, as in the real controllers, because the webhook may be unreachable.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import type { ResourceCall, ServerContext } from '../call.ts'
import type { User } from '../identity/authentication.ts'
import type { DeleteRequestOptions } from '../options.ts'
import type { ApiResource } from '../resource.ts'
import { StatusError } from '../status.ts'
import type { Stored } from '../storage/stored.ts'
import { updateObject } from '../verbs/change.ts'
import { controllerManager } from '../verbs/owning.ts'
import { deleteObject } from '../verbs/remove.ts'
import { deleteReviewed, updateReviewed } from '../verbs/reviewed.ts'
import { toDeleteOptions, toWriteOptions } from '../webhooks/options.ts'
import { createReviewer, type RequestAttributes } from '../webhooks/reviewer.ts'
import { callAs, noQuery, serviceAccount } from './call-as.ts'
import { ControllerFailures } from './failures.ts'

const firstDelayMs = 5
const maxDelayMs = 1_000_000

type UpdateFunction = (object: KubeObject) => KubeObject

export class ControllerClient {
  readonly #parts: ServerContext
  readonly #user: User

  /** Called after each reviewed write, successful or not, so that the controller checks the object recheck. */
  readonly #recheck: (current: Stored) => void

  /** UIDs of objects with a pending review or retry. Further writes to them are skipped meanwhile. */
  readonly #busy = new Set<string>()

  readonly #failures: ControllerFailures<string>

  /** Consecutive rejections by UID. */
  readonly #rejections = new Map<string, number>()

  constructor(parts: ServerContext, controller: string, recheck: (current: Stored) => void) {
    this.#parts = parts
    this.#user = serviceAccount(controller)
    this.#failures = new ControllerFailures(parts, controller)
    this.#recheck = recheck
  }

  update(resource: ApiResource, current: Stored, change: UpdateFunction): void {
    const update = {
      change: ifUnchanged(current, change),
      part: '' as const,
      dryRun: false,
      manager: controllerManager,
    }
    const call = this.#callFor(resource, current)
    const reviewer =
      call && createReviewer(call, () => request('UPDATE', current, toWriteOptions('UpdateOptions', noQuery)))
    if (reviewer === undefined) updateObject(this.#parts, resource, current, update)
    else this.#writeReviewed(current, () => updateReviewed(call!, update, reviewer))
  }

  delete(resource: ApiResource, current: Stored, options: DeleteRequestOptions): void {
    const call = this.#callFor(resource, current)
    const reviewer = call && createReviewer(call, () => request('DELETE', current, toDeleteOptions(options)))
    if (reviewer === undefined) deleteObject(this.#parts, resource, current, options)
    else this.#writeReviewed(current, () => deleteReviewed(call!, current, { options, reviewer }))
  }

  /** Undefined if there are no webhooks at all. */
  #callFor(resource: ApiResource, current: Stored): ResourceCall | undefined {
    return this.#parts.hooks.isEmpty ? undefined : callAs(this.#parts, this.#user, resource, current)
  }

  #writeReviewed(current: Stored, write: () => Promise<unknown>): void {
    const { uid } = current
    if (this.#busy.has(uid)) return
    this.#busy.add(uid)
    void this.#attempt(uid, write).finally(() => {
      this.#busy.delete(uid)
      if (!this.#parts.closing.aborted) this.#recheck(current)
    })
  }

  async #attempt(uid: string, write: () => Promise<unknown>): Promise<void> {
    const { clock, closing } = this.#parts
    try {
      await write()
      this.#rejections.delete(uid)
      this.#failures.succeed(uid)
    } catch (error) {
      if (closing.aborted) return
      if (!(error instanceof StatusError)) {
        await this.#failures.fail(uid, error)
        return
      }
      if (error.code === 404) {
        this.#rejections.delete(uid)
        return
      }
      const times = this.#rejections.get(uid) ?? 0
      this.#rejections.set(uid, times + 1)
      await clock.sleep(Math.min(firstDelayMs * 2 ** times, maxDelayMs), closing).catch(() => {})
    }
  }
}

function request(operation: 'UPDATE' | 'DELETE', { name }: Stored, options: JsonObject): RequestAttributes {
  return { operation, name, options, dryRun: false }
}

/** Applies the change only to the revision it was decided on. A newer revision is checked recheck by the controller. */
function ifUnchanged({ version }: Stored, change: UpdateFunction): UpdateFunction {
  return (object) => (object.metadata.resourceVersion === String(version) ? change(object) : object)
}
