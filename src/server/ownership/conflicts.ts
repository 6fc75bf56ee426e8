/** Conflicts of a configuration with other field managers, reported as a 409 that lists them. */
import { quote } from '../field-errors.ts'
import { StatusError } from '../status.ts'
import { type FieldPosition, type FieldSet, placesOf, printPath, toPath } from './field-set.ts'
import { identityOf, type Manager } from './managers.ts'

export interface Conflict {
  readonly manager: Manager
  readonly place: FieldPosition
}

/**
 * Maximum number of path elements in one message. Real objects stay far below; without a limit, the paths of a conflict on each of
 * 10,000 levels would take hundreds of megabytes.
 */
const maxNamedElements = 100_000

/** Sorted by manager, as in messages. */
export function toConflicts(found: ReadonlyArray<{ manager: Manager; fields: FieldSet }>): Conflict[] {
  const sorted = [...found].sort((one, other) => (identityOf(one.manager) < identityOf(other.manager) ? -1 : 1))
  return sorted.flatMap(({ manager, fields }) => [...placesOf(fields)].map((place) => ({ manager, place })))
}

export function conflictError(conflicts: readonly Conflict[]): StatusError {
  const named = nameFields(conflicts)
  const causes = named.map(({ manager, field }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${printManager(manager)}`,
    field,
  }))
  return new StatusError(409, 'Conflict', messageFor(named, conflicts.length), { causes })
}

interface NamedConflict {
  readonly manager: Manager
  readonly field: string
}

/** The first conflicts, as many as fit into a message. */
function nameFields(conflicts: readonly Conflict[]): NamedConflict[] {
  const named: NamedConflict[] = []
  let elements = 0
  for (const { manager, place } of conflicts) {
    const path = toPath(place)
    elements += path.length
    if (elements > maxNamedElements && named.length > 0) break
    named.push({ manager, field: printPath(path) })
  }
  return named
}

function messageFor(named: readonly NamedConflict[], count: number): string {
  const [first] = named
  if (count === 1) return `Apply failed with 1 conflict: conflict with ${printManager(first!.manager)}: ${first!.field}`
  const lines: string[] = []
  let current: Manager | undefined
  for (const { manager, field } of named) {
    if (manager !== current) lines.push(`conflicts with ${printManager(manager)}:`)
    current = manager
    lines.push(`- ${field}`)
  }
  if (named.length < count) lines.push(`and ${count - named.length} more`)
  return `Apply failed with ${count} conflicts: ${lines.join('\n')}`
}

function printManager({ name, operation, apiVersion, subresource }: Manager): string {
  const who = subresource === '' ? quote(name) : `${quote(name)} with subresource ${quote(subresource)}`
  return operation === 'Update' ? `${who} using ${apiVersion}` : who
}
