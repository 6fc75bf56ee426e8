/** Adds struct fields to a set that are not members themselves, because only fields below them are. */
import { type FieldSet, isEmpty, noFields } from './field-set.ts'
import { type FieldType, fitsAnything } from './field-types.ts'

/** Goes only as deep as the schema names fields; values without a schema may have any depth. */
export function withNamedFields(type: FieldType | undefined, fields: FieldSet): FieldSet {
  if (type === undefined || fitsAnything(type)) return fields
  const result: { [element: string]: FieldSet } = {}
  for (const element in fields) {
    const node = fields[element]!
    if (element === '.' || isEmpty(node)) {
      result[element] = node
      continue
    }
    const name = element.startsWith('f:') ? element.slice(2) : undefined
    const own = name === undefined ? undefined : type.map?.fields.get(name)
    const child = own ?? (name === undefined ? itemType(type, element) : type.map?.element)
    const below = withNamedFields(child, node)
    result[element] = own === undefined || '.' in below ? below : { '.': noFields, ...below }
  }
  return result
}

function itemType(type: FieldType, element: string): FieldType | undefined {
  return element.startsWith('k:') ? type.list?.element : undefined
}
