/** The definition of activity handlers (`on.startup`, `on.cleanup`, `on.login`, `on.probe`): called for the operator itself. */
import {
  commonOptions,
  type HandlerDefinition,
  type HandlerTypeInfo,
  progressIds,
  retryArgs,
  retryOptions,
} from '../handlers/definition.ts'

const info: HandlerTypeInfo = {
  title: 'Activity',
  options: [...commonOptions, ...retryOptions],
  errors: 'temporary',
  successLevel: 'info',
}

export const activityDefinition: HandlerDefinition<'activity'> = {
  category: 'activity',
  types: { startup: info, cleanup: info, login: info, probe: info },
  parse: () => ({ category: 'activity' }),
  idPurpose: progressIds,
  // The ids of activities are not stored, and every file of an operator may have its own `configure`.
  numbersIds: () => true,
  args: retryArgs,
  result: 'own',
  isWebhook: false,
  hasEssentialField: false,
  patchesObjects: false,
}
