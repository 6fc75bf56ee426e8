/** Who stands in the way of a configuration, and where: a 409 that names them all. */
import { quote } from '../field-errors.ts'
import { StatusError } from '../status.ts'
import { type FieldSet, pathsOf, printPath } from './field-set.ts'
import { identityOf, type Manager } from './managers.ts'

export interface Conflict {
  readonly manager: Manager
  readonly path: readonly string[]
}

/** Sorted by manager, as messages name them. */
export function toConflicts(found: ReadonlyArray<{ manager: Manager; fields: FieldSet }>): Conflict[] {
  const sorted = [...found].sort((one, other) => (identityOf(one.manager) < identityOf(other.manager) ? -1 : 1))
  return sorted.flatMap(({ manager, fields }) => [...pathsOf(fields)].map((path) => ({ manager, path })))
}

export function conflictError(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${printManager(manager)}`,
    field: printPath(path),
  }))
  return new StatusError(409, 'Conflict', messageFor(conflicts), { causes })
}

function messageFor(conflicts: readonly Conflict[]): string {
  const [first] = conflicts
  if (conflicts.length === 1) {
    const { manager, path } = first!
    return `Apply failed with 1 conflict: conflict with ${printManager(manager)}: ${printPath(path)}`
  }
  const lines: string[] = []
  let current: Manager | undefined
  for (const { manager, path } of conflicts) {
    if (manager !== current) lines.push(`conflicts with ${printManager(manager)}:`)
    current = manager
    lines.push(`- ${printPath(path)}`)
  }
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`
}

function printManager({ name, operation, apiVersion, subresource }: Manager): string {
  const who = subresource === '' ? quote(name) : `${quote(name)} with subresource ${quote(subresource)}`
  return operation === 'Update' ? `${who} using ${apiVersion}` : who
}
