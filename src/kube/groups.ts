/** Whose groups are whose: those that Kubernetes has itself, and those that somebody may define kinds in. */

/** Those with a dot; definitions are not served in groups that the server has already. */
const builtIn: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
  'storagemigration.k8s.io',
])

/** Whether custom resources can be in it: their groups are domains, with a dot at least. */
export function canBeCustom(group: string): boolean {
  return group.includes('.') && !builtIn.has(group)
}
