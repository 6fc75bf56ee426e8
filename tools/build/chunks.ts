/**
 * Which of our modules share a file. Left to itself, a bundler makes a file of every set of modules that the same entries need:
 * a hundred small ones, of which forty are for `import 'kopf'`, and each has its price. Here they go by the rooms of the
 * house, so that each entry needs few, and none that it has no use for. No file imports one further up, as rooms do.
 */
import { relative, resolve } from 'node:path'

interface Graph {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null
}

/** Undefined is for what is imported later, or by one entry only: that is well where the bundler puts it. */
export function createGrouping(entries: readonly string[]): (id: string, graph: Graph) => string | undefined {
  const reached = new Map<string, ReadonlySet<string>>()
  const own = new Set(entries.map(toId))
  return (id, graph) => {
    const path = relative('src', id)
    if (own.has(id) || id.startsWith('\0rolldown/')) return undefined
    // What is added for syntax that Node has not yet.
    if (id.startsWith('\0')) return 'base'
    const isReached = (entry: string): boolean => {
      const ids = reached.get(entry) ?? reach(toId(entry), graph)
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
    // What a thread and `kopf --help` need is a small part of it.
    if (isCommand || isReached('features/workers/thread')) return 'base'
    if (isOperator && isServer) return 'common'
    if (isOperator) return /^(client|kube|util)\//.test(path) ? 'client' : 'operator'
    // Whoever serves a webhook makes certificates, too.
    return path.startsWith('server/') ? 'server' : 'common'
  }
  // Code that webhook servers share with the command must not load the command with them.
  if (isCommand && isReached('webhooks/index')) return 'base'
  return isCommand ? 'command' : undefined
}

/** All that is loaded with it, without what is imported later. */
function reach(entry: string, graph: Graph): ReadonlySet<string> {
  const ids = new Set([entry])
  // What is added on the way is visited as well.
  for (const id of ids) for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) ids.add(imported)
  return ids
}

function toId(entry: string): string {
  return resolve('src', `${entry}.ts`)
}
