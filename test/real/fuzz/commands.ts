/**
 * What the fuzzer does to a server, as plain values: they are generated, shrunk, kept in kept-cases.ts and printed.
 * Strings may hold references, since uids and versions are not the same on two servers; world.ts fills them in:
 * `<uid:a>`, `<rv:a>` (as last seen) and `<old:a>` (as first seen) of an object of the same resource, `<rv>` and
 * `<continue>` of the last list, `<ns>`; `@` for a name is the last generated one.
 */
import { type ResourceName, resourcePaths } from './definitions.ts'

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
  /** The representation that is asked for, in place of the objects themselves. */
  readonly as?: string
  /** Text goes out as it is. An object with `$read` is the named object as last seen, with the rest merged into it. */
  readonly body?: unknown
}

export function isWrite({ method }: Command): boolean {
  return method !== 'GET' && method !== 'WATCH'
}

/** Whether the garbage collector will have something to do, at a time that nobody can tell. */
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
