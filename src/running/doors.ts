/** The two doors of an operator: by one come the objects, by the other comes the API server to ask. Made by run.ts, once per run. */
import { Gate } from '../util/gate.ts'
import { Admission, type AdmissionOptions } from './admission.ts'
import { Orchestra, type OrchestrateOptions } from './orchestrate.ts'
import { createReview, type ReviewsOptions } from './reviews.ts'
import type { Runtime } from './runtime.ts'

export interface Doors {
  readonly orchestra: Orchestra
  readonly admission: Admission
}

export type DoorsOptions = Omit<OrchestrateOptions, 'onLooked'> &
  Omit<AdmissionOptions, 'review'> &
  Pick<ReviewsOptions, 'watchdog'>

/** Reviews wait until it is known what the cluster serves, and for the indices; whoever opens the gates is the first door. */
export function createDoors(runtime: Runtime, options: DoorsOptions): Doors {
  const [looked, indexed] = [new Gate(), new Gate()]
  const orchestra: Orchestra = new Orchestra(runtime, {
    ...options,
    onLooked: () => {
      looked.open()
      admission.look()
    },
    onIndexed: () => {
      options.onIndexed()
      indexed.open()
    },
  })
  const review = createReview(runtime, {
    ...options,
    looked,
    indexed,
    memoryOf: (resource, uid) => orchestra.memoryOf(resource, uid),
  })
  const admission = new Admission(runtime, { ...options, review })
  return { orchestra, admission }
}
