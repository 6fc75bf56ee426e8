/**
 * Creates the default RBAC roles and bindings (`cluster-admin`, `view`, discovery) that are missing when a server starts with
 * RBAC.
 */
import { randomUUID } from 'node:crypto'
import type { ServerContext } from '../call.ts'
import { isTaken, timestamp } from '../verbs/write.ts'
import { bootstrapJson } from './bootstrap.generated.ts'
import { rbacGroup } from './rbac.ts'

interface BootstrapEntry {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

export function createBootstrapPolicy(parts: ServerContext): void {
  const policy = JSON.parse(bootstrapJson) as Readonly<Record<string, readonly BootstrapEntry[]>>
  for (const [plural, entries] of Object.entries(policy)) {
    const resource = parts.registry.find(rbacGroup, 'v1', plural)!
    for (const { name, namespace, labels, ...fields } of entries) {
      const metadata = {
        name,
        ...(namespace === undefined ? {} : { namespace }),
        uid: randomUUID(),
        creationTimestamp: timestamp(parts),
        labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
        annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
      }
      if (isTaken(parts, resource, metadata)) continue
      // The generated entries are already complete and valid, so they are stored without defaulting and validation.
      const object = { apiVersion: `${rbacGroup}/v1`, kind: resource.kind, metadata, ...fields }
      parts.store.create(resource.collection, object, resource)
    }
  }
}
