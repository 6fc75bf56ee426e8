/**
 * The two doors of an operator: by one come the objects, by the other comes the API server to ask. The first is shut while others
 * of its peering have precedence. Made by run.ts, once per run.
 */
import { Gate } from '../util/gate.ts'
import { Admission, type AdmissionOptions } from './admission.ts'
import { Orchestra, type OrchestrateOptions } from './orchestrate.ts'
import { leaveObjects } from './pausing.ts'
import { Peerings, type PeeringsOptions } from './peerings.ts'
import { createReview, type ReviewsOptions } from './reviews.ts'
import type { Runtime } from './runtime.ts'

export interface Doors {
  readonly orchestra: Orchestra
  readonly admission: Admission
  readonly peerings: Peerings
}

export type DoorsOptions = Omit<OrchestrateOptions, 'onLooked' | 'onNamespaces'> &
  Omit<AdmissionOptions, 'review'> &
  Omit<PeeringsOptions, 'namespaces' | 'onStandingBackIn'> &
  Pick<ReviewsOptions, 'watchdog'>

/** Reviews wait until it is known what the cluster serves, and for the indices; whoever opens the gates is the first door. */
export function createDoors(runtime: Runtime, options: DoorsOptions): Doors {
  const [looked, indexed] = [new Gate(), new Gate()]
  const orchestra: Orchestra = new Orchestra(runtime, {
    ...options,
    onLooked: () => {
      looked.open()
      admission.look()
      peerings.look()
    },
    onNamespaces: () => peerings.lookAgain(),
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
  const peerings = new Peerings(runtime, {
    ...options,
    namespaces: () => orchestra.namespaces,
    onStandingBackIn: (namespace) => orchestra.excuseNamespace(namespace),
  })
  runtime.pause.onChange((namespace) => {
    if (runtime.pause.isPausedIn(namespace)) leaveObjects(runtime, orchestra.memories(), namespace)
    else options.health.resumed(namespace)
  })
  // Requests are answered all the same, with the indices as they are: nobody knows when these will be complete.
  void peerings.stoodBack.then(() => indexed.open())
  return { orchestra, admission, peerings }
}
