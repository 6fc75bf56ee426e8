/** The handler categories of the framework, one row each. A new category is a folder with a definition, and a row here. */
import { activityDefinition } from './activities/activity-definition.ts'
import { admissionDefinition } from './admission/admission-definition.ts'
import { conversionDefinition } from './admission/conversion-definition.ts'
import { changeDefinition } from './changes/change-definition.ts'
import { backgroundDefinition } from './daemons/background-definition.ts'
import { KopfError } from './errors.ts'
import { buildHandler } from './handlers/create-handler.ts'
import type { HandlerDefinition, HandlerOfType } from './handlers/definition.ts'
import type { HandlerType } from './handlers/handler-types.ts'
import type { FieldPath } from './handlers/options.ts'
import { indexDefinition } from './indexing/index-definition.ts'
import type { ResourceLike } from './kube/resources/resources.ts'
import { eventDefinition } from './objects/event-definition.ts'
import { reconcileDefinition } from './reconciling/reconcile-definition.ts'

/** In the order of the calls for one object; activities last. */
export const handlerDefinitions: readonly HandlerDefinition[] = [
  indexDefinition,
  eventDefinition,
  changeDefinition,
  backgroundDefinition,
  reconcileDefinition,
  admissionDefinition,
  conversionDefinition,
  activityDefinition,
] as unknown as readonly HandlerDefinition[]

/** Creates a handler of any type. `fieldPath` is for `on.field`; the other handler types have the field in their options. */
export function createHandler<T extends HandlerType>(
  type: T,
  resource: ResourceLike | undefined,
  options: unknown,
  fn: unknown,
  fieldPath?: FieldPath,
): HandlerOfType<T> {
  const definition = handlerDefinitions.find(({ types }) => Object.hasOwn(types, type))
  if (definition === undefined)
    throw new KopfError('KOPF_HANDLER_OPTIONS', `Cannot register a handler of the unknown type "${type}"`)
  return buildHandler(definition, { type, resource, options, fn, fieldPath }) as HandlerOfType<T>
}
