/** The custom resource "Replication": its types in TypeScript and its CRD. */
import { defineResource, type Spec } from 'kopf'
import { z } from 'zod'

const source = z.object({
  kind: z.enum(['Secret', 'ConfigMap']),
  namespace: z
    .string()
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/),
  name: z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/),
})

/** Keys and values of labels. The selector becomes a query, in which a comma or a bracket would have a meaning. */
const keyPattern = '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$'
const labelKey = z.string().max(317).regex(new RegExp(keyPattern))
const labelValue = z
  .string()
  .max(63)
  .regex(/^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/)

/** A schema of Kubernetes has no patterns for keys. */
const keysRule = { rule: `self.all(key, key.matches('${keyPattern}'))`, message: 'the keys must be names of labels' }

/** The same rule as in Kubernetes' own selectors. The maximums keep its cost below the limit of the API server. */
const valuesRule = {
  rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
  message: 'values are required for In and NotIn, and not allowed for Exists and DoesNotExist',
}

const labelExpression = z
  .object({
    key: labelKey,
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: z.array(labelValue).max(100).optional(),
  })
  .meta({ 'x-kubernetes-validations': [valuesRule] })

const namespaceSelector = z.object({
  matchLabels: z
    .record(z.string(), labelValue)
    .meta({ maxProperties: 20, 'x-kubernetes-validations': [keysRule] })
    .optional(),
  matchExpressions: z.array(labelExpression).max(20).optional(),
})

const condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string(),
  observedGeneration: z.int().optional(),
})

/**
 * Cluster-scoped for two reasons: owner references across namespaces are allowed only from a cluster-scoped owner, and only cluster
 * administrators should be able to copy a Secret out of any namespace.
 */
export const Replication = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Replication',
  scope: 'Cluster',
  description: 'Keeps copies of a Secret or ConfigMap in all namespaces that match a selector.',
  spec: z.object({
    source,
    namespaceSelector: namespaceSelector.meta({
      description: 'The labels of the namespaces that get a copy. An empty selector matches all namespaces.',
    }),
  }),
  status: z.object({
    namespaces: z.int().meta({ description: 'The number of namespaces that match the selector.' }),
    copies: z.int().meta({ description: 'The number of copies that exist in these namespaces.' }),
    conditions: z.array(condition),
  }),
  printerColumns: [
    { name: 'Kind', path: 'spec.source.kind' },
    { name: 'Namespace', path: 'spec.source.namespace' },
    { name: 'Source', path: 'spec.source.name' },
    { name: 'Copies', path: 'status.copies' },
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Reason', path: '.status.conditions[?(@.type=="Ready")].reason', priority: 1 },
    { name: 'Age', path: 'metadata.creationTimestamp' },
  ],
})

export type ReplicationSpec = Spec<typeof Replication>
export type Source = ReplicationSpec['source']
