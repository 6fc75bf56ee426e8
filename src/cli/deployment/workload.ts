/**
 * Writes the Deployment, with pods that satisfy the "restricted" pod security standard, its Service and PodDisruptionBudget, and the
 * NetworkPolicy.
 */
import { type CommentedObject, type DeploymentPlan, labelsOf } from './plan.ts'

/** The port of the health endpoint; the same as in the template's Dockerfile. */
export const healthPort = 8080

/**
 * V8's old generation gets five eighths of the container's memory; V8's default is half. The remaining memory is for Node itself, the young
 * generation, buffers, and the text of large objects, which is stored outside of the heap.
 */
const memoryMi = 512
const heapMi = 320

/** The user of distroless images. Any user except 0 works. */
const user = 65_532

export function writeWorkload(plan: DeploymentPlan): CommentedObject[] {
  return [
    ...(plan.webhooks === undefined ? [] : [writeService(plan, plan.webhooks)]),
    writeDeployment(plan),
    ...(plan.replicas > 1 ? [writeDisruptionBudget(plan)] : []),
  ]
}

function writeDeployment(plan: DeploymentPlan): CommentedObject {
  const { name, namespace, replicas, isElected } = plan
  const labels = labelsOf(plan)
  const object = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      strategy: isElected
        ? { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
        : { type: 'Recreate' },
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: podOf(plan) },
    },
  }
  const strategy = isElected
    ? 'New pods wait for the Lease until an old pod stops.'
    : 'Without leader election, two pods would both handle all objects.'
  const container = ['spec', 'template', 'spec', 'containers', 0]
  return {
    object,
    remarks: [
      { path: ['spec', 'strategy'], text: strategy },
      {
        path: ['spec', 'template', 'spec', 'securityContext', 'runAsUser'],
        text: 'On OpenShift, remove runAsUser and runAsGroup: it assigns a user.',
      },
      {
        path: [...container, 'args'],
        text: 'Options for the entry point of the image: `node operator.js`, built by `kopf build`.',
      },
      { path: [...container, 'env', 0], text: 'The identity of this pod in the Lease and in peerings.' },
      { path: [...container, 'env', 1], text: 'The heap in MiB: five eighths of the memory limit. Change both.' },
      { path: [...container, 'env', 2], text: 'The same as terminationGracePeriodSeconds. Change both.' },
      {
        path: [...container, 'startupProbe'],
        text: 'Startup handlers have two minutes. Then the container is restarted.',
      },
      { path: [...container, 'livenessProbe', 'timeoutSeconds'], text: 'Probe handlers have 5 seconds.' },
      {
        path: [...container, 'volumeMounts', 0],
        text: 'For temporary files of your code. The rest of the file system is read-only.',
      },
    ],
  }
}

function podOf(plan: DeploymentPlan): object {
  const { name, graceSeconds, replicas } = plan
  return {
    serviceAccountName: name,
    terminationGracePeriodSeconds: graceSeconds,
    ...(replicas > 1 ? { topologySpreadConstraints: [onDifferentNodes(plan)] } : {}),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [containerOf(plan)],
    volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '64Mi' } }],
  }
}

function containerOf({ image, args, graceSeconds, webhooks, endpoints }: DeploymentPlan): object {
  const alive = { httpGet: { path: '/healthz', port: 'health' } }
  return {
    name: 'operator',
    image,
    args,
    env: [
      { name: 'POD_ID', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'NODE_OPTIONS', value: `--max-old-space-size=${heapMi}` },
      { name: 'KOPF_RUN_GRACE_PERIOD', value: String(graceSeconds) },
    ],
    ports: [
      { name: 'health', containerPort: healthPort },
      ...(webhooks === undefined ? [] : [{ name: 'webhooks', containerPort: webhooks.targetPort }]),
      ...endpoints.map(({ name, port }) => ({ name, containerPort: port })),
    ],
    startupProbe: { ...alive, periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...alive, timeoutSeconds: 6 },
    readinessProbe: { httpGet: { path: '/readyz', port: 'health' } },
    resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: `${memoryMi}Mi` } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
  }
}

/** Spreads the replicas, so that the loss of one node does not stop all of them. */
function onDifferentNodes(plan: DeploymentPlan): object {
  return {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: labelsOf(plan) },
  }
}

function writeService(
  plan: DeploymentPlan,
  { service, port }: NonNullable<DeploymentPlan['webhooks']>,
): CommentedObject {
  const labels = labelsOf(plan)
  const object = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: service, namespace: plan.namespace, labels },
    spec: {
      selector: labels,
      publishNotReadyAddresses: true,
      ports: [{ name: 'webhooks', port, targetPort: 'webhooks' }],
    },
  }
  const text = 'Objects that are stored in another version are converted before the operator is ready.'
  return { object, remarks: [{ path: ['spec', 'publishNotReadyAddresses'], text }] }
}

function writeDisruptionBudget(plan: DeploymentPlan): CommentedObject {
  const { name, namespace } = plan
  const labels = labelsOf(plan)
  const object = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace, labels },
    spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
  }
  return { object }
}

/**
 * A policy that allows only connections to the ports of webhooks, metrics and the dashboard. The probes need no rule: the node of a pod can always connect to it, by the
 * definition of network policies. The webhook port is open to every source: API servers usually run outside of the pod network, or connect
 * through a tunnel, so that no selector matches them.
 */
export function writeNetworkPolicy(plan: DeploymentPlan): CommentedObject[] {
  const { name, namespace, ports } = plan
  // The port of the webhooks is not known: a policy without it would block them, and all reviewed requests would fail.
  if (ports === undefined) return []
  const labels = labelsOf(plan)
  const object = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace, labels },
    spec: {
      podSelector: { matchLabels: labels },
      policyTypes: ['Ingress'],
      ingress: ports.map(({ port }) => ({ ports: [{ protocol: 'TCP', port }] })),
    },
  }
  const probes = 'Probes need no rule: connections from the node of the pod are always allowed.'
  return [
    {
      object,
      remarks: [
        { path: ['spec', 'ingress'], text: probes },
        ...ports.map(({ clients }, index) => ({ path: ['spec', 'ingress', index], text: clients })),
      ],
    },
  ]
}
