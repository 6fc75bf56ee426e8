/** What stands for one object in the indices, and what is remembered of indexing it. Goes with the object. */
import type { Handler } from '../../core/handling/handler.ts'
import type { CallWatch } from '../../core/handling/invoke.ts'
import type { Situation } from '../../core/handling/select.ts'
import { isOlder } from '../../core/watching/versions.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Logger } from '../../util/log.ts'

/** A state of an object, for those who index it. */
export interface Sight extends Pick<Situation, 'resource' | 'body' | 'args'> {
  readonly handlers: readonly Handler[]
  readonly logger: Logger
  readonly watch: CallWatch
  /** For a large object: resolves when it may be parsed, with the function to be called afterwards. */
  readonly reserve?: () => Promise<() => void> | undefined
}

/** The attempts of one function since the first that failed. */
export interface Failure {
  readonly startedMs: number
  readonly retries: number
  /** Not called again before; `Infinity` for never. */
  readonly untilMs: number
}

export interface IndexedObject {
  /** Of the newest state that was brought. */
  version: string | undefined
  /** By the id of the function; undefined where none has failed, as is the case nearly always. */
  failures: Map<string, Failure> | undefined
  /** The newest state, while an older one is being indexed; those in between are passed over. */
  next: Sight | undefined
  /** Resolves when all that was brought so far is in the indices; undefined when it is. Never rejects. */
  done: Promise<void> | undefined
  /** It was discarded: what was under way then must not come in. */
  isGone: boolean
}

export function createIndexedObject(): IndexedObject {
  return { version: undefined, failures: undefined, next: undefined, done: undefined, isGone: false }
}

/** Not what is older than the last one that was brought; nor that one again, unless it may fare better. */
export function isNewTo({ version, failures }: IndexedObject, { metadata }: KubeObject): boolean {
  const { resourceVersion } = metadata
  if (resourceVersion !== undefined && resourceVersion === version) return failures !== undefined
  return !isOlder(resourceVersion, version)
}

export function noteFailure(object: IndexedObject, { id }: Handler, failure: Failure): void {
  object.failures ??= new Map()
  object.failures.set(id, failure)
}

/** Success leaves no trace but the values. */
export function forgetFailure(object: IndexedObject, { id }: Handler): void {
  object.failures?.delete(id)
  if (object.failures?.size === 0) object.failures = undefined
}
