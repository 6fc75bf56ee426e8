/** The custom resource `Database`: the fields that users write, the status that the operator writes, and the rules of the API server. */
import { defineResource } from 'kopf'
import { z } from 'zod'

const backup = z.object({
  schedule: z
    .string()
    .regex(/^(@(hourly|daily|weekly|monthly)|\S+( \S+){4})$/)
    .describe('When to back up, in UTC, as in a CronJob: "0 3 * * *"'),
  claim: z
    .string()
    .min(1)
    .max(253)
    .describe('An existing PersistentVolumeClaim for backups. The operator never deletes it'),
  keepDays: z.int().min(1).max(3650).default(14).describe('Backups that are older are deleted'),
})

export const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  shortNames: ['db'],
  description: 'A PostgreSQL server with one replica, scheduled backups and a generated password.',
  spec: z.object({
    version: z
      .string()
      .max(8)
      .regex(/^(15|16|17)(\.[0-9]{1,2})?$/)
      .default('17')
      .meta({
        description: 'The version of PostgreSQL. Only its minor number can be changed',
        'x-kubernetes-validations': [
          {
            rule: "self.split('.')[0] == oldSelf.split('.')[0]",
            message: 'the major version cannot be changed: create another Database with restoreFrom',
          },
        ],
      }),
    storage: z
      .string()
      .max(10)
      .regex(/^[1-9][0-9]{0,5}(Mi|Gi|Ti)$/)
      .meta({
        description: 'The size of the data volume. It can grow, and not shrink',
        'x-kubernetes-validations': [
          {
            rule: 'quantity(self).compareTo(quantity(oldSelf)) >= 0',
            message: 'storage can only grow: Kubernetes cannot shrink volumes',
          },
        ],
      }),
    storageClass: z
      .string()
      .max(253)
      .optional()
      .meta({
        'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'the storage class cannot be changed' }],
      }),
    backup: backup.optional(),
    restoreFrom: z
      .string()
      .max(300)
      .regex(/^[a-z0-9][a-z0-9.-]*\/[A-Za-z0-9_-]+\.dump$/)
      .describe(
        'A backup in the claim for backups, for example "orders/20260101T030000Z.dump". It is read once, for a new database',
      )
      .optional(),
    deletionPolicy: z
      .enum(['Retain', 'Backup', 'Delete'])
      .default('Retain')
      .describe('On deletion: keep the data and the password, delete them after a last backup, or delete them at once'),
  }),
  status: z.object({
    observedGeneration: z.int(),
    storage: z.string(),
    host: z.string(),
    restoredFrom: z.string(),
    lastBackup: z.iso.datetime(),
    conditions: z.array(
      z.object({
        type: z.string(),
        status: z.string(),
        reason: z.string(),
        message: z.string(),
        lastTransitionTime: z.iso.datetime(),
        observedGeneration: z.int().optional(),
      }),
    ),
  }),
  printerColumns: [
    { name: 'Version', path: 'spec.version' },
    { name: 'Storage', path: 'status.storage' },
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Reason', path: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: 'Backup', path: 'status.lastBackup' },
    { name: 'Age', path: 'metadata.creationTimestamp' },
  ],
  rules: [
    // Jobs have names of at most 63 characters, and the operator appends "-last-backup-" and 8 more. The Service has the name itself.
    {
      rule: "size(self.metadata.name) <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
      message:
        'the name must have at most 40 characters, begin with a letter, and have no dots: it is the name of a Service',
    },
    {
      rule: 'has(self.spec.storageClass) == has(oldSelf.spec.storageClass)',
      message: 'the storage class cannot be changed',
      fieldPath: 'spec.storageClass',
    },
    {
      rule: "self.spec.deletionPolicy != 'Backup' || has(self.spec.backup)",
      message: 'deletionPolicy "Backup" needs spec.backup',
      fieldPath: 'spec.deletionPolicy',
    },
    {
      rule: '!has(self.spec.restoreFrom) || has(self.spec.backup)',
      message: 'restoreFrom needs spec.backup: the claim with the backup',
      fieldPath: 'spec.restoreFrom',
    },
    {
      rule:
        'has(self.spec.restoreFrom) == has(oldSelf.spec.restoreFrom) && ' +
        '(!has(self.spec.restoreFrom) || self.spec.restoreFrom == oldSelf.spec.restoreFrom)',
      message: 'restoreFrom cannot be changed: create another Database to restore another backup',
      fieldPath: 'spec.restoreFrom',
    },
  ],
})
