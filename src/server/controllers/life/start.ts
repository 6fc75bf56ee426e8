/** Starts the controllers that were chosen. Loaded only where there are any. */
import type { Parts } from '../../call.ts'
import { versionInfo } from '../../discovery.ts'
import { CronJobController } from './cron-jobs.ts'
import { DeploymentController } from './deployments.ts'
import { FinishedJobController } from './finished-jobs.ts'
import { JobController } from './jobs.ts'
import type { ControllerName } from './names.ts'
import { NodeController } from './nodes.ts'
import { PodController } from './pods.ts'
import { ReplicaSetController } from './replica-sets.ts'

export interface LifeOptions {
  readonly chosen: ReadonlySet<ControllerName>
  readonly ca: string
}

/** Each looks at what is there already, and follows what comes. They end with the server. */
export function startLife(parts: Parts, { chosen }: LifeOptions): void {
  if (chosen.has('pods')) {
    new NodeController(parts, String(versionInfo()['gitVersion']))
    new PodController(parts, { waitsForClaims: chosen.has('persistentvolumeclaims') })
  }
  if (chosen.has('replicasets')) new ReplicaSetController(parts)
  if (chosen.has('deployments')) new DeploymentController(parts)
  if (chosen.has('cronjobs')) new CronJobController(parts)
  if (chosen.has('jobs')) {
    new JobController(parts)
    new FinishedJobController(parts)
  }
}
