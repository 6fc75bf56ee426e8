/** The custom resource `Certificate`: the fields that users write, the status that the operator writes, and the rules of the API server. */
import { defineResource, type Spec } from 'kopf'
import { z } from 'zod'

/** The Secret with the certificate authority (CA) of a namespace. */
export const caSecretName = 'certificates-ca'

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Converts "30m", "12h" or "90d" to milliseconds. The schema allows nothing else. */
export function toMs(duration: string): number {
  return Number(duration.slice(0, -1)) * (unitsMs[duration.slice(-1)] ?? Number.NaN)
}

const duration = z
  .string()
  .max(5)
  .regex(/^[1-9][0-9]{0,3}[mhd]$/)

/** The same conversion in CEL, to minutes. CEL has durations, but no days. */
function inMinutes(field: string): string {
  const unit = `(${field}.endsWith('d') ? 1440 : ${field}.endsWith('h') ? 60 : 1)`
  return `int(${field}.substring(0, size(${field}) - 1)) * ${unit}`
}

const dnsName = z
  .string()
  .max(253)
  .regex(/^(\*\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/)

export const Certificate = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Certificate',
  shortNames: ['cert'],
  description: 'A TLS certificate in a Secret, which is renewed before it expires.',
  spec: z.object({
    dnsNames: z.array(dnsName).min(1).max(50).describe('The host names of the server, for example "*.example.com"'),
    secretName: z
      .string()
      .max(253)
      .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
      .describe('The Secret that the operator creates, of the type kubernetes.io/tls'),
    duration: duration.default('90d').describe('How long a certificate is valid, in minutes, hours or days: "90d"'),
    renewBefore: duration.default('30d').describe('How long before its end a certificate is replaced: "30d"'),
  }),
  status: z.object({
    observedGeneration: z.int(),
    notBefore: z.iso.datetime(),
    notAfter: z.iso.datetime(),
    serial: z.string().describe('The serial number of the certificate, in hexadecimal digits'),
    renewals: z.int().describe('How often the first certificate was replaced'),
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
    { name: 'Secret', path: 'spec.secretName' },
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Reason', path: '.status.conditions[?(@.type=="Ready")].reason', priority: 1 },
    // Not a date: kubectl prints dates as an age, and a time in the future as "<invalid>".
    { name: 'Expires', path: 'status.notAfter', type: 'string' },
    { name: 'Renewals', path: 'status.renewals' },
    { name: 'Age', path: 'metadata.creationTimestamp' },
  ],
  rules: [
    {
      rule: `${inMinutes('self.spec.renewBefore')} < ${inMinutes('self.spec.duration')}`,
      message: 'renewBefore must be shorter than duration: otherwise each new certificate would be due at once',
      fieldPath: 'spec.renewBefore',
    },
    {
      rule: `${inMinutes('self.spec.duration')} <= 366 * 1440`,
      message: 'duration must be at most 366 days',
      fieldPath: 'spec.duration',
    },
    {
      rule: `self.spec.secretName != '${caSecretName}'`,
      message: `the Secret "${caSecretName}" has the key of the CA: choose another name`,
      fieldPath: 'spec.secretName',
    },
  ],
})

export type CertificateSpec = Spec<typeof Certificate>
