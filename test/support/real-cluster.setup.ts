/**
 * One real control plane for a whole run of the project "real" (vitest.config.ts), started before the first test file
 * and stopped after the last. Tests access it with `inject('realCluster')`.
 */
import type { TestProject } from 'vitest/node'
import type { Credentials } from '../../tools/envtest/certificates.ts'
import { startControlPlane } from '../../tools/envtest/control-plane.ts'
import type { Kubeconfigs } from '../../tools/envtest/files.ts'
import type { Pids } from '../../tools/envtest/processes.ts'

/** Plain values only, since vitest serialises them for its workers. */
export interface RealCluster {
  readonly url: string
  readonly caPem: string
  readonly admin: Credentials
  readonly operator: Credentials
  readonly nobody: Credentials
  readonly kubeconfigs: Kubeconfigs
  /** The path of kubectl. */
  readonly kubectl: string
  readonly pids: Pids
  /** Whether the garbage collector and the controllers of namespaces and service accounts run. */
  readonly hasControllers: boolean
}

declare module 'vitest' {
  export interface ProvidedContext {
    realCluster: RealCluster
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const plane = await startControlPlane({ onProgress: (line) => project.vitest.logger.log(line) })
  const { url, caPem, admin, operator, nobody, kubeconfigs, binaries, pids } = plane
  project.provide('realCluster', {
    url,
    caPem,
    admin,
    operator,
    nobody,
    kubeconfigs,
    kubectl: binaries.kubectl,
    pids,
    hasControllers: pids.controllerManager !== undefined,
  })
  return () => plane.stop()
}
