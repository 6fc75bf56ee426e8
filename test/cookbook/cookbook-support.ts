/**
 * Runs the operator of a cookbook project on the cluster of the suite: the embedded server, or a real control plane. Neither has controllers, so a
 * test writes the status of pods, Jobs and other built-in kinds itself.
 */
import type { Operator, RunningOperator, RunOptions } from 'kopf'
import { type Cluster, type StartClusterOptions, startCluster } from 'kopf/testing'
import { afterAll, afterEach, beforeAll, inject } from 'vitest'
import { isReal, toConnection } from '../support/real-access.ts'

export interface Project {
  /** The cluster of the test file. Objects of one test stay until the end of the file: give each test names of its own. */
  readonly cluster: Cluster
  /** Starts the operator and waits until it is ready. It is stopped at the end of the test. */
  start(options?: RunOptions): Promise<RunningOperator>
}

/** Call it once at the top of a test file. */
export function useProject(
  // biome-ignore lint/suspicious/noExplicitAny: operators with any memo.
  operator: Operator<any>,
  options: Omit<StartClusterOptions, 'real' | 'controllers'>,
): Project {
  let cluster: Cluster
  const running = new Set<RunningOperator>()
  beforeAll(async () => {
    cluster = await startCluster({ ...options, real: isReal ? toConnection(inject('realCluster')) : false })
  })
  afterEach(async () => {
    for (const one of running) await one.stop()
    running.clear()
  })
  afterAll(() => cluster.stop())
  return {
    get cluster() {
      return cluster
    },
    async start(runOptions = {}) {
      const one = await operator.start({ ...cluster, ...runOptions })
      running.add(one)
      await one.ready
      return one
    },
  }
}
