/**
 * Tests of operators and handlers without a real cluster and without waiting: `startCluster` runs whole operators on an embedded API
 * server, `runHandler` calls a single handler, `KopfRunner` runs the command `kopf`. Not for production.
 *
 * @module kopf/testing
 */

export type { Transport, TransportRequest, TransportResponse } from '../util/transport.ts'
export type { ClusterFaults, ClusterRequests } from './cluster/backend.ts'
export type { Cluster } from './cluster/cluster.ts'
export type { ClockMode, ClusterClock } from './cluster/cluster-clock.ts'
export type { ListSelection, NewObject, SettledOptions, UntilOptions } from './cluster/cluster-options.ts'
export type { Manifest } from './cluster/manifests.ts'
export { type StartClusterOptions, startCluster } from './cluster/start-cluster.ts'
export { KopfRunner, type KopfRunnerOptions } from './kopf-runner.ts'
export { runHandler } from './run-handler/run-handler.ts'
export type { HandlerOutcome, HandlerRun, LoggedLine, RecordedEvent, RunHandlerOptions } from './run-handler/types.ts'
export { SkippingClock } from './skipping-clock.ts'
export type { Expectation } from './waiting/expectations.ts'
export type { WaitOptions } from './waiting/wait-for.ts'
