/** Who may connect to the pods of the operator: a NetworkPolicy for the port that others need, and for nothing else. */
import { type DeploymentPlan, type Documented, labelsOf } from './plan.ts'

/**
 * The port of probes is not in it: the node of a pod can always connect to the pod, by the definition of network policies. API
 * servers mostly run outside of the pod network, and may come through a tunnel, so that no selector matches them: the port of
 * webhooks is open to every source.
 */
export function writeNetworkPolicy(plan: DeploymentPlan): Documented[] {
  const { name, namespace, ports } = plan
  // A policy without the port of the webhooks would have all requests refused that they review.
  if (ports === undefined) return []
  const labels = labelsOf(plan)
  const object = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace, labels },
    spec: {
      podSelector: { matchLabels: labels },
      policyTypes: ['Ingress'],
      ingress: ports.map((port) => ({ ports: [{ protocol: 'TCP', port }] })),
    },
  }
  const probes = 'Probes need no rule: they come from the node of the pod, which is always let through.'
  const webhooks = 'API servers, which no selector matches: add `from` with an ipBlock where their addresses are known.'
  return [
    {
      object,
      remarks: [
        { path: ['spec', 'ingress'], text: probes },
        ...ports.map((_, index) => ({ path: ['spec', 'ingress', index], text: webhooks })),
      ],
    },
  ]
}
