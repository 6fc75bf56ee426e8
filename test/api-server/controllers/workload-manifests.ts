/** Short manifests of workloads for the tests of controllers. */
import type { Cluster } from 'kopf/testing'

// biome-ignore lint/suspicious/noExplicitAny: tests read fields of any object.
export type Loose = Record<string, any>

interface TemplateOptions {
  readonly app?: string
  readonly image?: string
  /** The behaviour of the pod, for its annotation. */
  readonly pod?: string
  readonly spec?: object
}

export function template({ app = 'web', image = 'nginx:1', pod, spec = {} }: TemplateOptions = {}): Loose {
  return {
    metadata: { labels: { app }, ...(pod !== undefined && { annotations: { 'kopf.dev/pod': pod } }) },
    spec: { containers: [{ name: 'main', image }], ...spec },
  }
}

export function deployment(spec: Loose = {}): Loose {
  return { name: 'web', spec: { selector: { matchLabels: { app: 'web' } }, template: template(), ...spec } }
}

export function job(spec: Loose = {}, pod?: string): Loose {
  const { metadata, ...rest } = template({ app: 'job', ...(pod !== undefined && { pod }) })
  return { name: 'work', spec: { template: { metadata, spec: { ...rest['spec'], restartPolicy: 'Never' } }, ...spec } }
}

export async function podsOf(cluster: Cluster, labels?: string): Promise<Loose[]> {
  return cluster.list(['v1', 'pods'] as const, labels === undefined ? {} : { labelSelector: labels })
}

export function condition(status: Loose | undefined, type: string): Loose {
  return status?.['conditions']?.find((one: Loose) => one['type'] === type)
}
