/**
 * The hand with which a controller writes where clients' webhooks have a say: at once where none is concerned, else when they
 * have agreed. They are told that it is the service account of the controller. What they refuse is tried again, later and
 * later, as the real controllers do: the webhook may have been out of reach.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import type { Call, Parts } from '../call.ts'
import type { User } from '../identity/authentication.ts'
import type { DeleteOptions } from '../options.ts'
import type { ServedResource } from '../resource.ts'
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
const longestDelayMs = 1_000_000

type Change = (object: KubeObject) => KubeObject

export class Hand {
  readonly #parts: Parts
  readonly #user: User

  /** Looks whether there is still something to be done about an object, when it was done or was not. */
  readonly #again: (current: Stored) => void

  /** By uid, what webhooks are asked about, or what waits to be tried again: nothing else is done about it meanwhile. */
  readonly #busy = new Set<string>()

  readonly #failures: ControllerFailures<string>

  /** How often in a row each was refused. */
  readonly #refusals = new Map<string, number>()

  constructor(parts: Parts, controller: string, again: (current: Stored) => void) {
    this.#parts = parts
    this.#user = serviceAccount(controller)
    this.#failures = new ControllerFailures(parts, controller)
    this.#again = again
  }

  update(resource: ServedResource, current: Stored, change: Change): void {
    const update = { change: ifStill(current, change), part: '' as const, dryRun: false, manager: controllerManager }
    const call = this.#callFor(resource, current)
    const reviewer =
      call && createReviewer(call, () => request('UPDATE', current, toWriteOptions('UpdateOptions', noQuery)))
    if (reviewer === undefined) updateObject(this.#parts, resource, current, update)
    else this.#agree(current, () => updateReviewed(call!, update, reviewer))
  }

  delete(resource: ServedResource, current: Stored, options: DeleteOptions): void {
    const call = this.#callFor(resource, current)
    const reviewer = call && createReviewer(call, () => request('DELETE', current, toDeleteOptions(options)))
    if (reviewer === undefined) deleteObject(this.#parts, resource, current, options)
    else this.#agree(current, () => deleteReviewed(call!, current, { options, reviewer }))
  }

  /** Undefined where there are no webhooks at all. */
  #callFor(resource: ServedResource, current: Stored): Call | undefined {
    return this.#parts.hooks.isEmpty ? undefined : callAs(this.#parts, this.#user, resource, current)
  }

  #agree(current: Stored, write: () => Promise<unknown>): void {
    const { uid } = current
    if (this.#busy.has(uid)) return
    this.#busy.add(uid)
    void this.#attempt(uid, write).finally(() => {
      this.#busy.delete(uid)
      if (!this.#parts.closing.aborted) this.#again(current)
    })
  }

  async #attempt(uid: string, write: () => Promise<unknown>): Promise<void> {
    const { clock, closing } = this.#parts
    try {
      await write()
      this.#refusals.delete(uid)
      this.#failures.succeed(uid)
    } catch (error) {
      if (closing.aborted) return
      if (!(error instanceof StatusError)) {
        await this.#failures.fail(uid, error)
        return
      }
      if (error.code === 404) {
        this.#refusals.delete(uid)
        return
      }
      const times = this.#refusals.get(uid) ?? 0
      this.#refusals.set(uid, times + 1)
      await clock.sleep(Math.min(firstDelayMs * 2 ** times, longestDelayMs), closing).catch(() => {})
    }
  }
}

function request(operation: 'UPDATE' | 'DELETE', { name }: Stored, options: JsonObject): RequestAttributes {
  return { operation, name, options, dryRun: false }
}

/** What was decided about one state is not done to another: that one is looked at again. */
function ifStill({ version }: Stored, change: Change): Change {
  return (object) => (object.metadata.resourceVersion === String(version) ? change(object) : object)
}
