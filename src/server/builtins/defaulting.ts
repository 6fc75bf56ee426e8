/**
 * Applies defaults to a whole object. Each type has its own defaults, applied from the outside in wherever the type occurs, so
 * a pod template gets the same defaults in a Deployment and in a CronJob. Also covers the effects of the real server's
 * conversion to internal types, which this server does not have. Called by strategy.ts after decoding.
 */
import { roundToMilli } from '../../kube/quantities.ts'
import type { GoField, GoFieldType, Types } from './types.ts'
import { isFields, type ObjectFields } from './values.ts'

/** Defaults by type name. Each function modifies its argument. */
export type Defaulters = { readonly [type: string]: (value: ObjectFields) => void }

export function applyDefaults(types: Types, defaulters: Defaulters, name: string, value: ObjectFields): void {
  defaulters[name]?.(value)
  for (const field of types.struct(name).fields) defaultField(types, defaulters, field, value)
}

function defaultField(types: Types, defaulters: Defaulters, field: GoField, parent: ObjectFields): void {
  const value = parent[field.name]
  if (field.default !== undefined && isUnset(field, value)) parent[field.name] = field.default
  // A struct field that is not a pointer always exists in Go, so it gets defaults even if the client omits it.
  else if (value === undefined && field.type.tag === 'struct' && !field.pointer) parent[field.name] = {}
  const present = parent[field.name]
  if (present !== undefined) descend(types, defaulters, field.type, present)
}

function isUnset(field: GoField, value: unknown): boolean {
  return value === undefined || (!field.pointer && (value === '' || value === 0 || value === false))
}

function descend(types: Types, defaulters: Defaulters, type: GoFieldType, value: unknown): void {
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

function roundAmounts(list: ObjectFields): void {
  for (const key of Object.keys(list)) {
    const rounded = roundToMilli(list[key] as string)
    if (rounded !== list[key]) list[key] = rounded
  }
}
