/** The definition of change handlers: `on.create`, `on.update`, `on.delete`, `on.resume`, `on.field`, and sub-handlers. */
import {
  commonOptions,
  filterOptions,
  type HandlerDefinition,
  type HandlerParts,
  type HandlerTypeInfo,
  progressIds,
  retryArgs,
  retryOptions,
} from '../handlers/definition.ts'
import { readFlag } from '../handlers/options.ts'

const compared = ['old', 'new']

const plain: HandlerTypeInfo = {
  title: 'Handler',
  options: [...commonOptions, ...retryOptions, ...filterOptions],
  errors: 'temporary',
  successLevel: 'info',
}

const types = {
  create: plain,
  update: { ...plain, options: [...plain.options, ...compared] },
  delete: { ...plain, options: [...plain.options, 'optional'] },
  resume: { ...plain, options: [...plain.options, 'deleted'] },
  // The field is an argument of its own, before the options.
  field: { ...plain, options: [...plain.options.filter((name) => name !== 'field'), ...compared] },
  subhandler: { ...plain, options: ['param', ...retryOptions, ...filterOptions, ...compared] },
} as const satisfies Record<string, HandlerTypeInfo>

type Causes = Omit<HandlerParts<'change'>, 'category' | 'deleted'>

/** The causes for which each handler type is called. */
const causes: Readonly<Record<string, Causes>> = {
  create: { reasons: new Set(['create']), initial: false, needsChange: false },
  update: { reasons: new Set(['update']), initial: false, needsChange: true },
  delete: { reasons: new Set(['delete']), initial: false, needsChange: false },
  resume: { reasons: undefined, initial: true, needsChange: false },
  field: { reasons: undefined, initial: false, needsChange: true },
}

export const changeDefinition: HandlerDefinition<'change'> = {
  category: 'change',
  types,
  parse: ({ type, options, subject }) => ({
    category: 'change',
    ...causes[type]!,
    deleted: readFlag(options, 'deleted', subject),
  }),
  needsFinalizer: ({ type, options, subject }) => type === 'delete' && !readFlag(options, 'optional', subject),
  idPurpose: progressIds,
  args: [...retryArgs, 'patch', 'conditions', 'subhandler', 'execute', 'step'],
  result: 'status',
  isWebhook: false,
  hasEssentialField: true,
  patchesObjects: true,
  hasSteps: () => true,
}
