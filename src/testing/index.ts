/**
 * Operators and their handlers under test, with no cluster and no waiting. Not for production.
 *
 * @module kopf/testing
 */

export type { Cluster } from './cluster.ts'
export type { ClusterClock } from './cluster-clock.ts'
export type { ListSelection, NewObject, SettledOptions, UntilOptions } from './cluster-options.ts'
export type { Expectation } from './expectations.ts'
export type { HandlerOutcome, HandlerRun, LoggedLine, RecordedEvent, RunHandlerOptions } from './handler-run.ts'
export { KopfRunner, type KopfRunnerOptions } from './kopf-runner.ts'
export type { Manifest } from './manifests.ts'
export { runHandler } from './run-handler.ts'
export type { ClusterFaults, ClusterRequests } from './site.ts'
export { SkippingClock } from './skipping-clock.ts'
export { type StartClusterOptions, startCluster } from './start-cluster.ts'
export type { WaitOptions } from './waiting.ts'
