/**
 * The front door: everything an operator is written with.
 *
 * @module kopf
 */

export {
  ApiError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isNotFound,
  isUnauthorized,
  isUnprocessable,
} from './client/api-error.ts'
export type { Client } from './client/client.ts'
export { ConnectionError } from './client/connection-error.ts'
export { ConnectionInfo, type ConnectionInfoOptions, type Impersonation } from './client/credentials.ts'
export { type KubeconfigLoginOptions, loginWithKubeconfig } from './client/kubeconfig.ts'
export { loginWithServiceAccount, type ServiceAccountLoginOptions } from './client/service-account.ts'
export { loginViaClient } from './client/via-client.ts'
export type { Diff, DiffItem, DiffOperation, Reason } from './core/causation/causes.ts'
export { ConcealedValue } from './core/causation/concealed-value.ts'
export type { ExplainedChange, Explanation, HandlerVerdict, StoredProgress } from './core/explaining/explanation.ts'
export type {
  ActivityArgs,
  AdmissionArgs,
  Args,
  Body,
  BodyEssence,
  ChangeArgs,
  ChildGroup,
  Children,
  ConvertArgs,
  Converted,
  DaemonArgs,
  DaemonStoppingReason,
  EventArgs,
  FieldArgs,
  IndexArgs,
  Indices,
  Memo,
  Meta,
  ObjectArgs,
  OwnerKey,
  RawEvent,
  ReconcileArgs,
  Reconciled,
  Recorder,
  Spec,
  Status,
  Stopped,
  SubhandlerOutcomes,
  TimerArgs,
  UserInfo,
} from './core/handling/args.ts'
export type { Conditions } from './core/handling/conditions.ts'
export { ABSENT, all, any, none, not, PRESENT } from './core/handling/filters.ts'
export type { AdmissionOperation, ErrorsMode, ExistingPolicy, FieldPath } from './core/handling/handler.ts'
export type { HandlerClock } from './core/handling/handler-clock.ts'
export type { Index, Store } from './core/handling/index-table.ts'
export type { Lifecycle, LifecycleContext } from './core/handling/lifecycles.ts'
export { lifecycles } from './core/handling/lifecycles.ts'
export type { ExecuteOptions, SubhandlerOutcome } from './core/handling/subhandling.ts'
export type { Patch, PatchFunction } from './core/patching/patch.ts'
export {
  AnnotationsDiffBaseStorage,
  DiffBaseStorage,
  MultiDiffBaseStorage,
  StatusDiffBaseStorage,
} from './core/persistence/diffbase-storage.ts'
export {
  AnnotationsProgressStorage,
  MultiProgressStorage,
  type ProgressRecord,
  ProgressStorage,
  SmartProgressStorage,
  StatusProgressStorage,
} from './core/persistence/progress-storage.ts'
export type { Settings } from './core/settings.ts'
export type {
  SslPeer,
  WebhookClientConfig,
  WebhookContext,
  WebhookFn,
  WebhookRequestInfo,
  WebhookServe,
  WebhookServerLike,
  WebhookService,
} from './core/webhook-server.ts'
export {
  daemon,
  getDefaultOperator,
  index,
  on,
  reconcile,
  run,
  setDefaultOperator,
  start,
  timer,
} from './default-operator.ts'
export {
  AdmissionError,
  type AdmissionErrorOptions,
  HandlerRetriesError,
  HandlerTimeoutError,
  KopfError,
  LoginError,
  PermanentError,
  TemporaryError,
  type TemporaryErrorOptions,
  WebhookError,
} from './errors.ts'
export type { Condition, ConditionStatus } from './kube/conditions.ts'
export { deepCopy } from './kube/copies.ts'
export { toCrd } from './kube/crd.ts'
export type { KubeObject, KubeObject as RawBody, ObjectMeta, ObjectReference, OwnerReference } from './kube/objects.ts'
export {
  adjustNamespace,
  adopt,
  appendOwnerReference,
  buildObjectReference,
  buildOwnerReference,
  harmonizeNaming,
  label,
  removeOwnerReference,
} from './kube/owners.ts'
export type {
  CustomResource,
  NamespaceOf,
  ObjectOf,
  OpenObject,
  Resource,
  ResourceDefinition,
  ResourceLike,
} from './kube/resources.ts'
export { defineResource, EVERYTHING, resource } from './kube/resources.ts'
export type {
  HandlerFn,
  ObjectOutcome,
  On,
  OperatorOptions,
  Plugin,
  Register,
  RegisterActivity,
  RegisterConvert,
  RegisterField,
  RegisterIndex,
  RegisterReconcile,
  RegisterWithOptions,
  RunningOperator,
  RunObserver,
  RunOptions,
} from './operator.ts'
export { Operator } from './operator.ts'
export { type InWorkerOptions, inWorker, type WorkerArgs } from './running/in-worker.ts'
export type { Mutable } from './util/deep-types.ts'
export type { Duration } from './util/duration.ts'
export type { LogFormat } from './util/log.ts'
export { configureLogging, type LoggingOptions, type LogSink, type ObjectLogger } from './util/log.ts'
