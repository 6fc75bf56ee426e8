/** The roles and bindings that people rely on, put into a server that starts with RBAC and does not have them yet: `cluster-admin`, `view`, discovery. */
import { randomUUID } from 'node:crypto'
import type { Parts } from '../call.ts'
import { isTaken, timestamp } from '../verbs/write.ts'
import { bootstrapJson } from './bootstrap.generated.ts'
import { rbacGroup } from './rbac.ts'

interface Entry {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

export function createBootstrapPolicy(parts: Parts): void {
  const policy = JSON.parse(bootstrapJson) as Readonly<Record<string, readonly Entry[]>>
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
      // As the real server has stored them: there is nothing to be read, checked or filled in, which takes its time.
      const object = { apiVersion: `${rbacGroup}/v1`, kind: resource.kind, metadata, ...fields }
      parts.store.create(resource.collection, object, resource)
    }
  }
}
