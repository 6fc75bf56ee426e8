/**
 * Loads the keys that sign the results of steps: from `settings.steps.keys`, from a Secret, or from memory if neither is possible. Reads nothing
 * before the first step runs, so that operators without steps need no permission on Secrets. Created by run/bootstrap.ts.
 */
import { digestSpec } from '../causation/essence.ts'
import { TemporaryError } from '../errors.ts'
import type { Progress } from '../handlers/progress.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { StepsSettings } from '../settings/groups.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'
import { lazy } from '../util/lazy.ts'
import type { Logger } from '../util/log/log.ts'
import { createKey } from '../util/text/macs.ts'
import type { StepSeal } from './step-records.ts'
import type { StepSecret } from './step-secret.ts'
import { type SignedStep, StepKeyring, type StepVerdict } from './step-signatures.ts'

export interface StepKeysOptions {
  readonly settings: StepsSettings
  readonly secret: StepSecret
  readonly clock: Clock
  readonly logger: Logger
}

export interface SealOptions extends Pick<SignedStep, 'type'> {
  /** The object as the handler was called with it. */
  readonly body: KubeObject
  readonly logger: Logger
}

/** The minimum time between two reads of a Secret that has no usable key, or lacks the key of a signature. */
const minReadIntervalMs = 60_000

const reasons: Readonly<Record<Exclude<StepVerdict, 'valid'>, string>> = {
  unsigned: 'it is not signed',
  'unknown-key': 'the key of its signature is not known',
  mismatch: 'its signature is not for this result, object, handler, run and spec',
}

/** The object whose steps are signed. */
interface SealedObject {
  readonly served: { readonly resource: Resource }
}

export class StepKeys {
  readonly #options: StepKeysOptions
  #keyring: StepKeyring | undefined
  /** Whether the keys survive this process: other replicas and the next process have them too. */
  #isShared = false
  #loading: Promise<void> | undefined
  /** When the Secret was last read; by the monotonic clock. */
  #lastReadMs = -Infinity
  #hasWarned = false
  /** A random key, created if no other key is available. It keeps verifying results after other keys are found. */
  #ownKey: Uint8Array | undefined
  /** Objects for which a warning was logged; further rejections of results are logged at debug level. */
  readonly #warned = new WeakSet<object>()

  constructor(options: StepKeysOptions) {
    this.#options = options
  }

  sealOf(object: SealedObject, { type, body, logger }: SealOptions): StepSeal {
    const { group, plural } = object.served.resource
    const { namespace = '', name = '', uid = '' } = body.metadata
    const spec = lazy(() => digestSpec(body))
    const toSigned = (key: string, { startedMs, purpose, result = '' }: Progress): SignedStep => ({
      ...{ type, group, plural, namespace, name, uid, key, startedMs, result },
      isDeletion: purpose === 'delete',
      spec: spec(),
    })
    return {
      open: () => this.#open(),
      sign: (id, result) => (this.#isOff ? undefined : this.#keyring!.sign(toSigned(id, result))),
      verify: async (id, result) => {
        const verdict = this.#isOff ? 'valid' : await this.#verify(toSigned(id, result), result.signature)
        if (verdict !== 'valid') this.#warn(object, logger, rejectionMessage(id, verdict))
        return verdict === 'valid'
      },
    }
  }

  get #isOff(): boolean {
    return this.#options.settings.signing === 'off'
  }

  /** Loads the keys once per process. With a key in memory only, the Secret is read again after `minReadIntervalMs`. */
  async #open(): Promise<void> {
    if (this.#isOff || (this.#keyring !== undefined && (this.#isShared || !this.#mayRead))) return
    await this.#load()
  }

  /** Limits reads of the Secret: an author of objects can invent signatures of unknown keys, and each must not cause a request. */
  get #mayRead(): boolean {
    return monotonicNow(this.#options.clock) >= this.#lastReadMs + minReadIntervalMs
  }

  async #verify(step: SignedStep, signature: string | undefined): Promise<StepVerdict> {
    const verdict = this.#keyring!.verify(step, signature)
    if (verdict !== 'unknown-key' || this.#options.settings.keys.length > 0 || !this.#mayRead) return verdict
    await this.#load()
    return this.#keyring!.verify(step, signature)
  }

  #load(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #read(): Promise<void> {
    const { settings, secret, clock, logger } = this.#options
    const [first, ...others] = settings.keys.map((text) => Buffer.from(text))
    if (first !== undefined) {
      this.#keyring = new StepKeyring([first, ...others])
      this.#isShared = true
      return
    }
    const found = await secret.open()
    this.#lastReadMs = monotonicNow(clock)
    if (found.type === 'unusable') return this.#continueWithout(found.why)
    for (const name of found.ignored) {
      logger.warn(
        `The entry "${name}" of the Secret ${secret} is ignored: a key for the results of steps has 32 bytes at least`,
      )
    }
    const own = this.#ownKey === undefined ? [] : [this.#ownKey]
    this.#keyring = new StepKeyring([...found.keys, ...own] as [Uint8Array, ...Uint8Array[]])
    this.#isShared = true
  }

  #continueWithout(why: string): void {
    const { settings, secret, logger } = this.#options
    // Keys that were read before stay in use: stored results are signed with them.
    if (this.#isShared) return
    const problem = `Cannot store the keys for the results of steps in the Secret ${secret}: ${why}`
    const remedy = 'apply what `kopf manifests` prints, or set "settings.steps.keys"'
    if (settings.signing === 'required') throw new TemporaryError(`${problem}; ${remedy}`, { delay: 30 })
    if (!this.#hasWarned)
      logger.warn(`${problem}. A key in memory is used, and after a restart steps run again; ${remedy}`)
    this.#hasWarned = true
    this.#ownKey ??= createKey()
    this.#keyring ??= new StepKeyring([this.#ownKey])
  }

  #warn(object: object, logger: Logger, message: string): void {
    if (this.#warned.has(object)) logger.debug(message)
    else logger.warn(message)
    this.#warned.add(object)
  }
}

function rejectionMessage(id: string, verdict: Exclude<StepVerdict, 'valid'>): string {
  const [handler, step] = [id.slice(0, id.lastIndexOf('/')), id.slice(id.lastIndexOf('/') + 1)]
  return `The stored result of step "${step}" of handler "${handler}" is not used, and the step runs again: ${reasons[verdict]}`
}
