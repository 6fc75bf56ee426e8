/**
 * Requests of the fuzzer as plain values, which are generated, shrunk, kept in kept-cases.ts and printed.
 * Strings may have references, since uids and versions differ between two servers. fuzzed-server.ts replaces them:
 * `<uid:a>`, `<rv:a>` (last seen version) and `<old:a>` (first seen version) of an object of the same resource, `<rv>` and
 * `<continue>` of the last list, `<ns>`; the name `@` is the last generated name.
 */
import { type ResourceName, resourcePaths } from './fuzzed-resources.ts'

type PatchType = 'merge' | 'json' | 'strategic' | 'apply'

export interface Command {
  /** `WATCH` begins a watch, which is read at the end of the run. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'WATCH'
  readonly resource: ResourceName
  /** Absent for the collection. */
  readonly name?: string
  readonly subresource?: string
  readonly query?: Readonly<Record<string, string>>
  readonly patch?: PatchType
  /** The requested representation, e.g. Table. */
  readonly as?: string
  /** Text is sent unchanged. An object with `$read` is the last seen state of that object, with the other fields merged into it. */
  readonly body?: unknown
}

export function isWrite({ method }: Command): boolean {
  return method !== 'GET' && method !== 'WATCH'
}

/** Whether the command may start the garbage collector, which works asynchronously. */
export function concernsCollector(command: Command): boolean {
  if (command.resource !== 'configmaps' || !isWrite(command)) return false
  const text = JSON.stringify(command)
  return /ownerReferences|Foreground|"Orphan|orphanDependents|foregroundDeletion|"orphan"/.test(text)
}

export function describeCommand(command: Command): string {
  const { method, resource, name, subresource, query, patch, as, body } = command
  const path = [resourcePaths[resource], name, subresource].filter((part) => part !== undefined).join('/')
  const parameters = Object.entries(query ?? {}).map(([key, value]) => `${key}=${value}`)
  const title = `${method} ${path}${parameters.length === 0 ? '' : `?${parameters.join('&')}`}`
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return [title, patch && `(${patch} patch)`, as && `(as ${as})`, text].filter((part) => part !== undefined).join(' ')
}
