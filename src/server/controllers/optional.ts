/** Options and start of the optional controllers (Deployments, Jobs, pods and so on), which are loaded only if requested. */
import type { ServerContext } from '../call.ts'
import { type ControllerChoice, chooseControllers } from './workloads/names.ts'
import type { WorkloadControllerOptions } from './workloads/start.ts'

export interface OptionalControllers {
  /**
   * Controllers to run, such as `deployments` or `jobs`, each together with the controllers it needs. `all` runs every
   * controller; a minus before a name leaves that controller out. Default: none.
   */
  readonly controllers?: 'all' | readonly ControllerChoice[]
  /** The CA in PEM format for the ConfigMap `kube-root-ca.crt` in each namespace. Default: ''. */
  readonly ca?: string
}

/** Resolves when the controllers run; undefined if none is requested. */
export function startOptional(
  parts: ServerContext,
  { controllers = [], ca = '' }: OptionalControllers,
): Promise<void> | undefined {
  const chosen = chooseControllers(controllers)
  return chosen.size === 0 ? undefined : start(parts, { chosen, ca })
}

async function start(parts: ServerContext, options: WorkloadControllerOptions): Promise<void> {
  const { startWorkloadControllers } = await import('./workloads/start.ts')
  if (!parts.closing.aborted) startWorkloadControllers(parts, options)
}
