/** One look at one object, and what gathers on the way. Made at the door, gone after the patch. */
import type { PatchFunction } from '../core/patching/patch.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { Logger } from '../util/log.ts'

export interface Visit {
  readonly logger: Logger
  /** What is to be written. */
  merge: JsonObject
  fns: PatchFunction<KubeObject>[]
  /** A state came that we did not know. */
  hasNews: boolean
  /** It was time to look again. */
  isWoken: boolean
}

export function createVisit(logger: Logger): Visit {
  return { logger, merge: {}, fns: [], hasNews: false, isWoken: false }
}
