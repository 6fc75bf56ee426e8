/** The custom resource: its types in the handlers, and its CRD. */
import { defineResource } from 'kopf'
import { z } from 'zod'

export const Bucket = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Bucket',
  description: 'A storage bucket at the cloud provider.',
  spec: z.object({
    region: z
      .string()
      .min(1)
      .max(40)
      .meta({ 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'the region cannot be changed' }] })
      .describe('Where the cloud stores the data.'),
    versioning: z.boolean().default(false).describe('Keep old versions of each file.'),
    quotaGb: z.int().min(1).default(10).describe('The maximum size in gigabytes.'),
  }),
  status: z.object({
    bucketId: z.string(),
    url: z.string(),
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
  printerColumns: [
    { name: 'Region', path: 'spec.region' },
    { name: 'Bucket', path: 'status.bucketId' },
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Reason', path: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: 'Message', path: '.status.conditions[?(@.type=="Ready")].message', priority: 1 },
    { name: 'Age', path: 'metadata.creationTimestamp' },
  ],
  // Names have at most 253 characters, and the operator appends "-bucket" for the ConfigMap.
  rules: [{ rule: 'size(self.metadata.name) <= 246', message: 'the name must have at most 246 characters' }],
})
