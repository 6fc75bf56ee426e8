/** Where the storages in the status keep their fields. */
import { parsePath } from '../../util/paths.ts'

/** A dotted path, in which `{name}` stands for the name of the storage, or the keys one by one, as they are. */
export type StatusFieldPath = string | readonly string[]

export function toStatusPath(field: StatusFieldPath, name: string): readonly string[] {
  return parsePath(typeof field === 'string' ? field.replaceAll('{name}', () => name) : field)
}
