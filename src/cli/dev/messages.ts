/** What `kopf dev` and the process of its operator tell each other, over the channel between parent and child. Plain data only. */
import type { ConnectionInfoOptions } from '../../client/credentials.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { RunOptions } from '../../operator.ts'
import type { ClusterArguments } from '../cluster-options.ts'
import type { Target } from '../load.ts'
import type { LoggingArguments } from '../logging-options.ts'

/** The same for every operator of one `kopf dev`. */
export interface OperatorSetup {
  readonly logging: LoggingArguments
  readonly run: Pick<RunOptions, 'namespaces' | 'clusterwide' | 'priority' | 'frameworkLogLevel'>
  /** How to reach the embedded server. Has its token: sent over the channel, never in arguments or the environment. */
  readonly embedded: ConnectionInfoOptions | undefined
  /** How to reach a cluster, where there is no embedded server. */
  readonly cluster: ClusterArguments
  /** Whether the CRDs of the operator are wanted. */
  readonly defines: boolean
}

/** The files of one operator, compiled. */
export interface LoadRequest {
  /** The address of what imports the targets. */
  readonly entry: string
  readonly targets: readonly Target[]
}

export interface LoadedOperator {
  readonly crds: readonly KubeObject[]
  readonly handlers: number
}

/** The address of a module of `inWorker`, once it is compiled; or why it cannot be. */
export type CompiledAnswer = { readonly url: string } | { readonly problem: string }

export type ToOperator =
  | { readonly type: 'prepare'; readonly setup: OperatorSetup }
  | { readonly type: 'load'; readonly request: LoadRequest }
  | { readonly type: 'start' }
  | { readonly type: 'stop' }
  | { readonly type: 'compiled'; readonly number: number; readonly answer: CompiledAnswer }

export type FromOperator =
  | { readonly type: 'loaded'; readonly operator: LoadedOperator }
  | { readonly type: 'started' }
  | { readonly type: 'ready' }
  /** The order to stop has arrived: the event loop is not blocked. */
  | { readonly type: 'stopping' }
  | { readonly type: 'stopped' }
  /** It could not be loaded or started, or has failed later: why, in words for its author. The process ends. */
  | { readonly type: 'failed'; readonly problem: string }
  | { readonly type: 'compile'; readonly number: number; readonly url: string }
