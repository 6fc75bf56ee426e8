/** Starts the chosen optional controllers. Loaded only if at least one is chosen. */
import { setMaxListeners } from 'node:events'
import type { ServerContext } from '../../call.ts'
import { versionInfo } from '../../discovery.ts'
import { CronJobController } from './cron-jobs.ts'
import { DaemonSetController } from './daemon-sets.ts'
import { DeploymentController } from './deployments.ts'
import { FinishedJobController } from './finished-jobs.ts'
import { JobController } from './jobs.ts'
import type { ControllerName } from './names.ts'
import { NodeController } from './nodes.ts'
import { PodController } from './pods.ts'
import { ReplicaSetController } from './replica-sets.ts'
import { ServiceAccountController } from './service-accounts.ts'
import { ServiceController } from './services.ts'
import { StatefulSetController } from './stateful-sets.ts'
import { VolumeController } from './volumes.ts'

export interface WorkloadControllerOptions {
  readonly chosen: ReadonlySet<ControllerName>
  readonly ca: string
}

/** Each controller reads the existing objects and then follows changes. All of them stop with the server. */
export function startWorkloadControllers(parts: ServerContext, { chosen, ca }: WorkloadControllerOptions): void {
  // Each controller adds an abort listener, so Node's leak warning is switched off.
  setMaxListeners(0, parts.closing)
  if (chosen.has('serviceaccounts')) new ServiceAccountController(parts, ca)
  if (chosen.has('persistentvolumeclaims')) new VolumeController(parts)
  if (chosen.has('pods')) {
    new NodeController(parts, String(versionInfo()['gitVersion']))
    new PodController(parts, { waitsForClaims: chosen.has('persistentvolumeclaims') })
  }
  if (chosen.has('replicasets')) new ReplicaSetController(parts)
  if (chosen.has('deployments')) new DeploymentController(parts)
  if (chosen.has('statefulsets')) new StatefulSetController(parts)
  if (chosen.has('daemonsets')) new DaemonSetController(parts)
  if (chosen.has('services')) new ServiceController(parts)
  if (chosen.has('cronjobs')) new CronJobController(parts)
  if (chosen.has('jobs')) {
    new JobController(parts)
    new FinishedJobController(parts)
  }
}
