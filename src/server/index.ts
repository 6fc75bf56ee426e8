/**
 * The embedded Kubernetes API server for development and tests. Starts on a port with `startServer`, or runs in process as
 * `ApiServer`.
 *
 * @module kopf/server
 */

export { ApiServer, type ApiServerOptions } from './api-server.ts'
export type { ControllerChoice, ControllerName } from './controllers/workloads/names.ts'
export type { Fault, FaultEffect, FaultMatch, FaultOptions, FaultPlan } from './faults.ts'
export type { User } from './identity/authentication.ts'
export type { ServiceAccountName } from './identity/long-tokens.ts'
export { toKubeconfig } from './kubeconfig.ts'
export type { RequestFilter, RequestLog, RequestRecord } from './request-log.ts'
export { type KubeconfigUser, type RunningServer, type StartServerOptions, startServer } from './start.ts'
