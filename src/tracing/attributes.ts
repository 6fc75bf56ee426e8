/**
 * The names of all attributes of spans: stable semantic conventions of OpenTelemetry where they exist, otherwise names with the prefix `kopf.`.
 * docs/operate/tracing.md describes each; a test compares. The strings are written here: the package of the conventions has 10 MB.
 */

export const attributes = {
  resource: 'kopf.resource',
  namespace: 'k8s.namespace.name',
  objectName: 'kopf.object.name',
  objectUid: 'kopf.object.uid',
  reason: 'kopf.reason',
  retry: 'kopf.retry',
  handlerId: 'kopf.handler.id',
  handlerType: 'kopf.handler.type',
  outcome: 'kopf.outcome',
  retryDelay: 'kopf.retry_delay',
  stepId: 'kopf.step.id',
  operation: 'kopf.admission.operation',
  dryRun: 'kopf.admission.dry_run',
  allowed: 'kopf.admission.allowed',
  method: 'http.request.method',
  resendCount: 'http.request.resend_count',
  statusCode: 'http.response.status_code',
  urlFull: 'url.full',
  urlPath: 'url.path',
  urlTemplate: 'url.template',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  errorType: 'error.type',
} as const
