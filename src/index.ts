/**
 * The public API of `kopf`: everything for writing and running an operator. Test helpers are in `kopf/testing`, webhook servers in
 * `kopf/webhooks`, the embedded API server in `kopf/server`.
 *
 * @module kopf
 */

export type { Diff, DiffItem, DiffOperation, DiffTuple, Reason } from './causation/cause.ts'
export { ConcealedValue } from './causation/concealed-value.ts'
export type { Decision } from './causation/decide.ts'
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
export { loginViaClient } from './client/auth/client-node.ts'
export { ConnectionInfo, type ConnectionInfoOptions, type Impersonation } from './client/auth/connection-info.ts'
export { type KubeconfigLoginOptions, loginWithKubeconfig } from './client/auth/kubeconfig.ts'
export { loginWithServiceAccount, type ServiceAccountLoginOptions } from './client/auth/service-account.ts'
export type { Client } from './client/client.ts'
export { ConnectionError } from './client/connection-error.ts'
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
export type {
  ExplainedChange,
  ExplainedChild,
  ExplainedReconciler,
  Explanation,
  ExplanationOptions,
  ForeignFields,
  HandlerVerdict,
  StoredProgress,
} from './explain/explanation.ts'
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
} from './handlers/args/args.ts'
export type { ExecuteOptions, SubhandlerOutcome } from './handlers/args/call-parts.ts'
export type { UntypedChild } from './handlers/args/child-types.ts'
export type { Conditions, ConditionToSet } from './handlers/args/conditions.ts'
export type { HandlerClock } from './handlers/args/handler-clock.ts'
export type {
  Counter,
  CounterSeries,
  Gauge,
  GaugeSeries,
  Histogram,
  HistogramOptions,
  HistogramSeries,
  LabelValues,
  MetricOptions,
  Metrics,
} from './handlers/args/metrics.ts'
export { ABSENT, all, any, none, not, PRESENT } from './handlers/filters.ts'
export type { Index, Store } from './handlers/index-table.ts'
export type { DueHandler, Lifecycle, LifecycleContext } from './handlers/lifecycles.ts'
export { lifecycles } from './handlers/lifecycles.ts'
export type { AdmissionOperation, ErrorsMode, ExistingPolicy, FieldPath } from './handlers/options.ts'
export { buildObject, type Desired, type KnownResource, type ObjectToBuild } from './kube/build-object.ts'
export type { Condition, ConditionStatus } from './kube/conditions.ts'
export { deepCopy } from './kube/copies.ts'
export { toCrd } from './kube/crds/crd.ts'
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
} from './kube/resources/resources.ts'
export { defineResource, resource } from './kube/resources/resources.ts'
export { EVERYTHING } from './kube/resources/selector-notations.ts'
export type {
  ObjectOutcome,
  ObservedCall,
  ObservedHandler,
  ObservedObject,
  ObservedReview,
  ObservedStream,
  Observer,
  ProcessingResult,
  RequestPurpose,
} from './observer.ts'
export type { OperatorOptions, Plugin, RunningOperator, RunOptions } from './operator.ts'
export { Operator } from './operator.ts'
export type { Patch, PatchFunction } from './patching/patch.ts'
export {
  AnnotationsDiffBaseStorage,
  DiffBaseStorage,
  MultiDiffBaseStorage,
  StatusDiffBaseStorage,
} from './persistence/diffbase-storage.ts'
export {
  AnnotationsProgressStorage,
  MultiProgressStorage,
  type ProgressRecord,
  ProgressStorage,
  SmartProgressStorage,
  StatusProgressStorage,
} from './persistence/progress-storage.ts'
export type { On } from './registration.ts'
export type { ForeignRegistry } from './settings/groups.ts'
export type { Settings } from './settings/settings.ts'
export type {
  SslPeer,
  WebhookClientConfig,
  WebhookContext,
  WebhookFn,
  WebhookRequestInfo,
  WebhookServe,
  WebhookServerLike,
  WebhookService,
} from './settings/webhook-server.ts'
export type { Mutable } from './util/json/deep-types.ts'
export type { LogFormat } from './util/log/log.ts'
export { configureLogging, type LoggingOptions, type LogSink, type ObjectLogger } from './util/log/log.ts'
export type { Duration } from './util/text/duration.ts'
export { type InWorkerOptions, inWorker, type WorkerArgs } from './workers/in-worker.ts'
