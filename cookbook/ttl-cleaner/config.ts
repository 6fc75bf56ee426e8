/** The configuration of the operator, from environment variables. */

export interface CleanerConfig {
  /** The resources to clean, such as `configmaps` or `deployments.apps`, or `*` for all resources with namespaces. */
  readonly kinds: '*' | readonly string[]
  /** These namespaces, and the objects in them, are never deleted. */
  readonly protectedNamespaces: readonly string[]
  /** Whether to report expired objects instead of deleting them. */
  readonly isDryRun: boolean
}

const defaultKinds = [
  ...['namespaces', 'configmaps', 'secrets', 'services', 'persistentvolumeclaims', 'pods'],
  ...['deployments.apps', 'jobs.batch'],
]

/** An empty variable counts as a missing one, except for the list of namespaces: it can be empty on purpose. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): CleanerConfig {
  const kinds = [...new Set(toList(env['TTL_KINDS'] ?? ''))]
  if (kinds.includes('*') && kinds.length > 1)
    throw new Error('TTL_KINDS is either "*" or a list of resources, not both')
  return {
    kinds: kinds.includes('*') ? '*' : kinds.length > 0 ? kinds : defaultKinds,
    protectedNamespaces: toList(env['TTL_PROTECTED_NAMESPACES'] ?? 'default,kube-system,kube-public,kube-node-lease'),
    isDryRun: toFlag('TTL_DRY_RUN', env['TTL_DRY_RUN'] ?? ''),
  }
}

function toList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** A misspelt flag must not turn a dry run into a real one, so only exact values are accepted. */
function toFlag(name: string, text: string): boolean {
  if (text === 'true') return true
  if (text === 'false' || text === '') return false
  throw new Error(`${name} is "true" or "false", not "${text}"`)
}
