/** One look at one object, and what gathers on the way. Made at the door, gone after the patch. */
import type { PatchFunction } from '../core/patching/patch.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { Logger } from '../util/log.ts'
import { HeldObject } from './large-objects.ts'
import type { ObjectOutcome } from './run-observer.ts'

export interface Visit {
  readonly logger: Logger
  /** What is to be written. */
  merge: JsonObject
  fns: PatchFunction<KubeObject>[]
  /** A state came that we did not know. */
  hasNews: boolean
  /** It was time to look again. */
  isWoken: boolean
  /** What has come of it so far, for those who watch the operator; undefined where no handler of changes is for the object. */
  outcome: ObjectOutcome | undefined
  readonly held: HeldObject
}

export function createVisit(logger: Logger): Visit {
  return { logger, merge: {}, fns: [], hasNews: false, isWoken: false, outcome: undefined, held: new HeldObject() }
}
