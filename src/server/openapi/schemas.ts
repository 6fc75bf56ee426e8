/**
 * The schemas of an OpenAPI document: of the kinds served, and of what they are made of. Those of built-in kinds are the
 * real server's (definitions.ts); those of custom resources are made in custom-schemas.ts.
 */
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json.ts'
import type { ServedResource } from '../resource.ts'
import { customListSchema, customSchema } from './custom-schemas.ts'
import { common, type Definitions, schemaName } from './names.ts'

/** All schemas that the resources of one version need, sorted by name. */
export function collectSchemas(resources: readonly ServedResource[], definitions: Definitions): JsonObject {
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

function sharedBy(resources: readonly ServedResource[]): string[] {
  const canDo = (verb: string): boolean => resources.some(({ verbs }) => verbs.includes(verb))
  return [...(canDo('delete') ? [common.status, common.deleteOptions] : []), ...(canDo('patch') ? [common.patch] : [])]
}

/** The options of a deletion are a kind of every group. */
function optionKinds(resources: readonly ServedResource[]): JsonObject[] {
  const versions = new Set(['/v1', ...resources.map(({ group, version }) => `${group}/${version}`)])
  return [...versions].sort().map((one) => {
    const [group = '', version = ''] = one.split('/')
    return { group, kind: 'DeleteOptions', version }
  })
}

/** What is referred to, and what that refers to. `needed` grows while it is read. */
function addDefinitions(schemas: Map<string, JsonObject>, needed: string[], definitions: Definitions): void {
  for (const name of needed) {
    const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined
    if (definition === undefined || schemas.has(name)) continue
    schemas.set(name, definition)
    needed.push(...referencesIn(definition))
  }
}

/** Only for definitions of our own: those are shallow. */
function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn)
  if (!isPlainObject(value)) return []
  const own = value['$ref']
  if (typeof own === 'string') return [own.slice(own.lastIndexOf('/') + 1)]
  return Object.values(value).flatMap(referencesIn)
}
