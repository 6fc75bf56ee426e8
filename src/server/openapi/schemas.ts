/**
 * Collects the schemas of an OpenAPI document: of the served kinds and all schemas they refer to. Built-in kinds have kube-apiserver's
 * schemas (definitions.ts), custom resources get theirs in custom-schemas.ts.
 */
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'
import type { ApiResource } from '../resource.ts'
import { customListSchema, customSchema } from './custom-schemas.ts'
import { common, type SchemaDefinitions, schemaName } from './names.ts'

/** All schemas for the resources of one version, sorted by name. */
export function collectSchemas(resources: readonly ApiResource[], definitions: SchemaDefinitions): JsonObject {
  const schemas = new Map<string, JsonObject>()
  const needed = sharedBy(resources)
  for (const resource of resources) {
    if (resource.isCustom) {
      schemas.set(schemaName(resource), customSchema(resource, definitions))
      schemas.set(schemaName(resource, 'List'), customListSchema(resource, definitions))
      needed.push(common.objectMeta, common.listMeta)
    } else {
      needed.push(schemaName(resource))
      if (resource.verbs.includes('list')) needed.push(schemaName(resource, 'List'))
    }
    if (resource.subresources.some(({ name }) => name === 'scale')) needed.push(common.scale)
  }
  addDefinitions(schemas, needed, definitions)
  const options = schemas.get(common.deleteOptions)
  if (options !== undefined) schemas.set(common.deleteOptions, { ...options, [kindExtension]: optionKinds(resources) })
  const sorted = [...schemas].sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(sorted)
}

const kindExtension = 'x-kubernetes-group-version-kind'

function sharedBy(resources: readonly ApiResource[]): string[] {
  const canDo = (verb: string): boolean => resources.some(({ verbs }) => verbs.includes(verb))
  return [...(canDo('delete') ? [common.status, common.deleteOptions] : []), ...(canDo('patch') ? [common.patch] : [])]
}

/** DeleteOptions is a kind of every group. */
function optionKinds(resources: readonly ApiResource[]): JsonObject[] {
  const versions = new Set(['/v1', ...resources.map(({ group, version }) => `${group}/${version}`)])
  return [...versions].sort().map((one) => {
    const [group = '', version = ''] = one.split('/')
    return { group, kind: 'DeleteOptions', version }
  })
}

/** Adds the needed definitions and everything they refer to. `needed` grows during the iteration. */
function addDefinitions(schemas: Map<string, JsonObject>, needed: string[], definitions: SchemaDefinitions): void {
  for (const name of needed) {
    const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined
    if (definition === undefined || schemas.has(name)) continue
    schemas.set(name, definition)
    needed.push(...referencesIn(definition))
  }
}

/** Recursive, because built-in definitions are shallow. */
function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn)
  if (!isPlainObject(value)) return []
  const own = value['$ref']
  if (typeof own === 'string') return [own.slice(own.lastIndexOf('/') + 1)]
  return Object.values(value).flatMap(referencesIn)
}
