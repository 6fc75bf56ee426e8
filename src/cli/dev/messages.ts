/** The messages between `kopf dev` and the process of its operator, over the IPC channel. Plain data only. Types only. */
import type { ConnectionInfoOptions } from '../../client/auth/connection-info.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { RunOptions } from '../../operator.ts'
import type { LoadTarget } from '../loading/load.ts'
import type { ClusterArguments } from '../options/cluster.ts'
import type { LoggingArguments } from '../options/logging.ts'

/** The options of the operator process, the same for all reloads of a session. */
export interface OperatorSetup {
  readonly logging: LoggingArguments
  readonly run: Pick<RunOptions, 'namespaces' | 'clusterwide' | 'priority' | 'frameworkLogLevel'>
  /** The connection to the embedded server. Contains its token, which must not be in arguments or in the environment. */
  readonly embedded: ConnectionInfoOptions | undefined
  /** The cluster if there is no embedded server. */
  readonly cluster: ClusterArguments
  /** Whether the session applies the CRDs of the operator. */
  readonly appliesCrds: boolean
  /** Whether the operator serves its dashboard, to this machine. */
  readonly hasDashboard: boolean
}

/** The compiled files of one operator. */
export interface LoadRequest {
  /** The URL of the module that imports the targets. */
  readonly entry: string
  readonly targets: readonly LoadTarget[]
}

export interface LoadedOperator {
  readonly crds: readonly KubeObject[]
  readonly handlers: number
  readonly hasWebhooks: boolean
}

/** The URL of a compiled module of `inWorker`, or the reason why it cannot be compiled. */
export type CompiledAnswer = { readonly url: string } | { readonly problem: string }

export type ToOperator =
  | { readonly type: 'prepare'; readonly setup: OperatorSetup }
  | { readonly type: 'load'; readonly request: LoadRequest }
  | { readonly type: 'start' }
  | { readonly type: 'stop' }
  /** Asks for the objects of the operator and the state of their handling. */
  | { readonly type: 'list-objects' }
  /** Asks for an address that logs in to the dashboard once. */
  | { readonly type: 'create-login-url' }
  /** Sends the output to `kopf dev` while the terminal shows something else, or prints it again. */
  | { readonly type: 'hold-output'; readonly isHeld: boolean }
  | { readonly type: 'compiled'; readonly number: number; readonly answer: CompiledAnswer }

export type FromOperator =
  | { readonly type: 'loaded'; readonly operator: LoadedOperator }
  | { readonly type: 'started' }
  | { readonly type: 'ready' }
  /** A handler blocks the event loop, or does not block it any more. */
  | { readonly type: 'blocked'; readonly isBlocked: boolean }
  /** The objects in words, for the user. */
  | { readonly type: 'objects'; readonly text: string }
  /** What the process would have printed. */
  | { readonly type: 'output'; readonly text: string }
  /** Undefined if the dashboard is not served. */
  | { readonly type: 'login-url'; readonly url: string | undefined }
  /** The process has received the stop request, so its event loop is not blocked. */
  | { readonly type: 'stopping' }
  | { readonly type: 'stopped' }
  /** The operator could not be loaded or started, or has failed later. The process exits. */
  | { readonly type: 'failed'; readonly problem: string }
  | { readonly type: 'compile'; readonly number: number; readonly url: string }
