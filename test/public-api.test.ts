/** The exports of the package: a name that is added, removed or changed here is a change for users. */
import { expect, test } from 'vitest'
import { findUndocumented } from './support/undocumented.ts'

test('kopf exports these names', async () => {
  expect(Object.keys(await import('kopf')).sort()).toMatchInlineSnapshot(`
    [
      "ABSENT",
      "AdmissionError",
      "AnnotationsDiffBaseStorage",
      "AnnotationsProgressStorage",
      "ApiError",
      "ConcealedValue",
      "ConnectionError",
      "ConnectionInfo",
      "DiffBaseStorage",
      "EVERYTHING",
      "HandlerRetriesError",
      "HandlerTimeoutError",
      "KopfError",
      "LoginError",
      "MultiDiffBaseStorage",
      "MultiProgressStorage",
      "Operator",
      "PRESENT",
      "PermanentError",
      "ProgressStorage",
      "SmartProgressStorage",
      "StatusDiffBaseStorage",
      "StatusProgressStorage",
      "TemporaryError",
      "WebhookError",
      "adjustNamespace",
      "adopt",
      "all",
      "any",
      "appendOwnerReference",
      "buildObject",
      "buildObjectReference",
      "buildOwnerReference",
      "configureLogging",
      "daemon",
      "deepCopy",
      "defineResource",
      "getDefaultOperator",
      "harmonizeNaming",
      "inWorker",
      "index",
      "isAlreadyExists",
      "isConflict",
      "isForbidden",
      "isGone",
      "isNotFound",
      "isUnauthorized",
      "isUnprocessable",
      "label",
      "lifecycles",
      "loginViaClient",
      "loginWithKubeconfig",
      "loginWithServiceAccount",
      "none",
      "not",
      "on",
      "reconcile",
      "removeOwnerReference",
      "resource",
      "run",
      "setDefaultOperator",
      "start",
      "timer",
      "toCrd",
    ]
  `)
})

test('kopf/kubernetes exports the kinds of stable versions, and no other values', async () => {
  const kinds = await import('kopf/kubernetes')
  expect(Object.keys(kinds)).toEqual(
    expect.arrayContaining(['ConfigMap', 'Deployment', 'Event', 'Ingress', 'Job', 'Pod']),
  )
  expect(new Set(Object.values(kinds).map(({ version }) => version))).toEqual(new Set(['v1', 'v2']))
})

test('kopf/server exports these names', async () => {
  expect(Object.keys(await import('kopf/server')).sort()).toMatchInlineSnapshot(`
    [
      "ApiServer",
      "startServer",
      "toKubeconfig",
    ]
  `)
})

test('kopf/testing exports these names', async () => {
  expect(Object.keys(await import('kopf/testing')).sort()).toMatchInlineSnapshot(`
    [
      "KopfRunner",
      "SkippingClock",
      "runHandler",
      "startCluster",
    ]
  `)
})

test('kopf/webhooks exports these names', async () => {
  expect(Object.keys(await import('kopf/webhooks')).sort()).toMatchInlineSnapshot(`
    [
      "WebhookAutoServer",
      "WebhookAutoTunnel",
      "WebhookDockerDesktopServer",
      "WebhookK3dServer",
      "WebhookMinikubeServer",
      "WebhookNgrokTunnel",
      "WebhookServer",
      "WebhookServiceServer",
    ]
  `)
})

test('every export, and every member of an exported class or interface, has a documentation comment', () => {
  const { checked, undocumented } = findUndocumented([
    'src/index.ts',
    'src/kube/builtins/index.generated.ts',
    'src/server/index.ts',
    'src/testing/index.ts',
    'src/webhooks/index.ts',
  ])
  expect(undocumented).toEqual([])
  // The scan must not pass because it finds nothing to check.
  expect(checked).toBeGreaterThan(1000)
})
