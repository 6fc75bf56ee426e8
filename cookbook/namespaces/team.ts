/** The custom resource, and the namespaces that follow from it. */
import { type Args, defineResource } from 'kopf'
import { z } from 'zod'

export const roles = ['admin', 'edit', 'view'] as const

/** A part of the name of a namespace. The environment is also the value of a label. */
const namePart = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

const teamSpec = z.object({
  prefix: z
    .string()
    .max(40)
    .regex(namePart)
    .optional()
    .describe('What the names of the namespaces begin with; the name of the team by default.'),
  environments: z
    .array(z.string().max(20).regex(namePart))
    .max(10)
    .default([])
    .describe('One namespace for each, such as "shop-dev". Without any, the team has one namespace with its own name.')
    .meta({ 'x-kubernetes-list-type': 'set' }),
  members: z
    .array(
      z.object({
        kind: z.enum(['User', 'Group']).default('User'),
        name: z.string().min(1).max(253),
        role: z
          .enum(roles)
          .default('edit')
          .describe('A ClusterRole of Kubernetes, granted in the namespaces of the team.'),
      }),
    )
    // The RoleBindings of each namespace list all of them: the limit keeps these objects small.
    .max(100)
    .default([])
    .describe('Users and groups with access. For more people, use groups.'),
  quota: z
    .object({ cpu: z.int().min(1), memoryGi: z.int().min(1), pods: z.int().min(1) })
    .default({ cpu: 4, memoryGi: 8, pods: 50 })
    .describe('The limit of each namespace.'),
  isolation: z
    .enum(['none', 'team', 'strict'])
    .default('team')
    .describe('Who can connect to pods: everyone, namespaces of the team, or only pods of the same namespace.'),
  deletionPolicy: z
    .enum(['Retain', 'Delete'])
    .default('Retain')
    .describe(
      'What happens to a namespace that the team does not have any more. Delete removes it with all data in it.',
    ),
})

export const Team = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Team',
  scope: 'Cluster',
  description: 'A team with its namespaces, quota, members and network isolation.',
  spec: teamSpec,
  status: z.object({
    namespaces: z.array(z.string()),
    retained: z.array(z.string()),
    observedGeneration: z.int(),
    conditions: z.array(
      z.object({
        type: z.string(),
        status: z.string(),
        reason: z.string(),
        message: z.string(),
        lastTransitionTime: z.string(),
        observedGeneration: z.int().optional(),
      }),
    ),
  }),
  // The API server checks these rules also while the operator is down.
  rules: [
    {
      rule: 'size(self.metadata.name) <= 63',
      message: 'the name must have at most 63 characters, since it is the value of a label',
    },
    {
      rule: 'has(self.spec.prefix) == has(oldSelf.spec.prefix) && (!has(self.spec.prefix) || self.spec.prefix == oldSelf.spec.prefix)',
      message: 'the prefix cannot be changed: namespaces cannot be renamed; create another team',
      fieldPath: 'spec.prefix',
    },
  ],
  printerColumns: [
    { name: 'Namespaces', path: '.status.namespaces' },
    { name: 'Isolation', path: 'spec.isolation' },
    { name: 'Deletion', path: 'spec.deletionPolicy' },
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Message', path: '.status.conditions[?(@.type=="Ready")].message', priority: 1 },
    { name: 'Age', path: 'metadata.creationTimestamp' },
  ],
})

/** The spec as handlers get it: with defaults, and read-only. */
export type TeamSpec = Args<'create', typeof Team>['spec']

/** Names the team of a namespace. A namespace without it is never changed. */
export const teamLabel = 'example.com/team'
const environmentLabel = 'example.com/environment'
/** The uid of the Team that manages the namespace. A namespace with another uid is never deleted. */
export const uidAnnotation = 'example.com/team-uid'

export interface WantedNamespace {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

export function namespacesOf(team: string, spec: Pick<TeamSpec, 'prefix' | 'environments'>): WantedNamespace[] {
  const prefix = spec.prefix ?? team
  const labels = { [teamLabel]: team, 'pod-security.kubernetes.io/enforce': 'baseline' }
  if (spec.environments.length === 0) return [{ name: prefix, labels }]
  return spec.environments.map((environment) => ({
    name: `${prefix}-${environment}`,
    labels: { ...labels, [environmentLabel]: environment },
  }))
}
