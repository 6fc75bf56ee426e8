/** The objects in each namespace of a team. */
import { buildObject } from 'kopf'
import { LimitRange, NetworkPolicy, ResourceQuota, RoleBinding } from 'kopf/kubernetes'
import { roles, type TeamSpec, teamLabel } from './team.ts'

export function buildLimits(namespace: string, { quota }: TeamSpec) {
  const { cpu, memoryGi, pods } = quota
  const hard = {
    'requests.cpu': `${cpu}`,
    'requests.memory': `${memoryGi}Gi`,
    'limits.memory': `${memoryGi}Gi`,
    pods: `${pods}`,
  }
  // A quota refuses pods without requests: these defaults make simple pods work.
  const container = {
    type: 'Container',
    default: { memory: '256Mi' },
    defaultRequest: { cpu: '50m', memory: '128Mi' },
  }
  return [
    buildObject(ResourceQuota, { metadata: { name: 'team', namespace }, spec: { hard } }),
    buildObject(LimitRange, { metadata: { name: 'team', namespace }, spec: { limits: [container] } }),
  ]
}

export function buildIsolation(namespace: string, { isolation }: TeamSpec, team: string) {
  if (isolation === 'none') return []
  const metadata = { name: 'team', namespace }
  if (isolation === 'team') {
    const from = [{ namespaceSelector: { matchLabels: { [teamLabel]: team } } }]
    return [
      buildObject(NetworkPolicy, {
        metadata,
        spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from }] },
      }),
    ]
  }
  const samePods = [{ podSelector: {} }]
  const dns = {
    to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } }],
    ports: [
      { protocol: 'UDP', port: 53 },
      { protocol: 'TCP', port: 53 },
    ],
  }
  const spec = {
    podSelector: {},
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: samePods }],
    egress: [{ to: samePods }, dns],
  }
  return [buildObject(NetworkPolicy, { metadata, spec })]
}

/** One binding for each role that has members. */
export function buildAccess(namespace: string, { members }: TeamSpec) {
  const apiGroup = 'rbac.authorization.k8s.io'
  return roles.flatMap((role) => {
    const subjects = members
      .filter((member) => member.role === role)
      .map(({ kind, name }) => ({ apiGroup, kind, name }))
    if (subjects.length === 0) return []
    const roleRef = { apiGroup, kind: 'ClusterRole', name: role }
    return [buildObject(RoleBinding, { metadata: { name: `team-${role}`, namespace }, roleRef, subjects })]
  })
}
