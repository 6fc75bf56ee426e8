/**
 * Groups our modules into chunks. By default a bundler writes one file per set of modules that the same entries import: about a
 * hundred small files, forty of them for `import 'kopf'`, and Node pays for each file it loads. These groups follow the layers
 * of `src/`, so that an entry loads few files and no code it does not use. A chunk imports only chunks of lower layers.
 */
import { relative, resolve } from 'node:path'

interface Graph {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null
}

/** Returns undefined for most modules that are imported dynamically or by one entry only: the bundler places them well by itself. */
export function createGrouping(entries: readonly string[]): (id: string, graph: Graph) => string | undefined {
  const reached = new Map<string, ReadonlySet<string>>()
  const own = new Set(entries.map(toId))
  return (id, graph) => {
    const path = relative('src', id)
    // One chunk for all built-in kinds: `kopf/kubernetes` loads two files, and not one per group and version.
    if (path.startsWith('kube/builtins/') && !path.includes('/index.')) return 'kubernetes'
    if (own.has(id) || id.startsWith('\0rolldown/')) return undefined
    // Helpers that the bundler adds for syntax that Node does not support yet.
    if (id.startsWith('\0')) return 'base'
    const isReached = (entry: string): boolean => {
      const ids = reached.get(entry) ?? collectImports(toId(entry), graph)
      reached.set(entry, ids)
      return ids.has(id)
    }
    return groupOf(path, isReached)
  }
}

function groupOf(path: string, isReached: (entry: string) => boolean): string | undefined {
  const isOperator = isReached('index')
  const isServer = isReached('server/index')
  const isCommand = isReached('cli/main')
  if (isOperator || isServer) {
    // Worker threads and `kopf --help` need only a small part of the operator: it is a chunk of its own, so that they start fast.
    if (isCommand || isReached('workers/thread/main')) return 'base'
    if (isOperator && isServer) return 'common'
    if (isOperator) return /^(client|kube|util)\//.test(path) ? 'client' : 'operator'
    // Webhook servers also import modules outside `server/`, such as the certificate code, but not the server itself.
    return path.startsWith('server/') ? 'server' : 'common'
  }
  // Code that webhook servers share with the command must not load the command with them.
  if (isCommand && isReached('webhooks/index')) return 'base'
  if (isCommand) return 'command'
  // Loaded only by operators with metrics, or with a journal or a dashboard.
  if (/^(metrics|serving)\//.test(path)) return 'metrics'
  if (/^(dashboard|journal)\//.test(path)) return 'dashboard'
  // The commands that show what an operator does.
  return /^cli\/(top\/|dashboard\/|dashboard-client)/.test(path) ? 'top' : undefined
}

/** The modules that the entry imports statically, directly or indirectly. */
function collectImports(entry: string, graph: Graph): ReadonlySet<string> {
  const ids = new Set([entry])
  // A loop over a Set also visits the elements that are added during the loop.
  for (const id of ids) for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) ids.add(imported)
  return ids
}

function toId(entry: string): string {
  return resolve('src', `${entry}.ts`)
}
