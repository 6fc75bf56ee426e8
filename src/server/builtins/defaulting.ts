/**
 * Fills in defaults all over an object: each type has its own, applied from the outside in wherever the type occurs, so a
 * pod template is treated alike in a Deployment and in a CronJob. Also what conversion to and from Kubernetes' internal
 * types does to an object, since nothing here has internal types. Called by strategy.ts after decoding.
 */
import { roundToMilli } from '../../kube/quantities.ts'
import type { GoField, GoType, Types } from './types.ts'
import { type Fields, isFields } from './values.ts'

/** Defaults of one type, by its name in the tables: changes the value it is given. */
export type Defaulters = { readonly [type: string]: (value: Fields) => void }

export function applyDefaults(types: Types, defaulters: Defaulters, name: string, value: Fields): void {
  defaulters[name]?.(value)
  for (const field of types.struct(name).fields) defaultField(types, defaulters, field, value)
}

function defaultField(types: Types, defaulters: Defaulters, field: GoField, parent: Fields): void {
  const value = parent[field.name]
  if (field.default !== undefined && isUnset(field, value)) parent[field.name] = field.default
  // What is no pointer always exists in Go, and gets its defaults even where the client did not write it.
  else if (value === undefined && field.type.tag === 'struct' && !field.pointer) parent[field.name] = {}
  const present = parent[field.name]
  if (present !== undefined) descend(types, defaulters, field.type, present)
}

function isUnset(field: GoField, value: unknown): boolean {
  return value === undefined || (!field.pointer && (value === '' || value === 0 || value === false))
}

function descend(types: Types, defaulters: Defaulters, type: GoType, value: unknown): void {
  if (type.tag === 'struct') {
    if (isFields(value)) applyDefaults(types, defaulters, type.name, value)
  } else if (type.tag === 'list') {
    if (type.element.tag === 'struct')
      for (const element of value as unknown[]) descend(types, defaulters, type.element, element)
  } else if (type.tag === 'map' && isFields(value)) {
    if (type.goName === 'v1.ResourceList') roundAmounts(value)
    else if (type.element.tag === 'struct')
      for (const key of Object.keys(value)) descend(types, defaulters, type.element, value[key])
  }
}

function roundAmounts(list: Fields): void {
  for (const key of Object.keys(list)) {
    const rounded = roundToMilli(list[key] as string)
    if (rounded !== list[key]) list[key] = rounded
  }
}
