/** The names of the handler types, with their categories. The definitions of the categories say the rest (definition.ts). */

/** The types of activity handlers. */
export type ActivityType = 'startup' | 'cleanup' | 'login' | 'probe'

/** The handler types that users can register, with their categories. */
export interface HandlerTypes {
  create: 'change'
  update: 'change'
  delete: 'change'
  resume: 'change'
  field: 'change'
  event: 'event'
  index: 'index'
  daemon: 'background'
  timer: 'background'
  reconcile: 'reconcile'
  validate: 'admission'
  mutate: 'admission'
  convert: 'conversion'
  startup: 'activity'
  cleanup: 'activity'
  login: 'activity'
  probe: 'activity'
}

export type HandlerType = keyof HandlerTypes
