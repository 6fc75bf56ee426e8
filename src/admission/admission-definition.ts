/** The definition of admission handlers (`on.validate`, `on.mutate`): the API server calls them before it stores an object. */
import {
  commonOptions,
  filterOptions,
  type HandlerDefinition,
  type HandlerTypeInfo,
  retryArgs,
} from '../handlers/definition.ts'
import type { AdmissionOperation } from '../handlers/options.ts'
import { readFlag, throwOptionError } from '../handlers/options.ts'

const info: HandlerTypeInfo = {
  title: 'Handler',
  options: [
    ...commonOptions,
    ...filterOptions,
    ...['operations', 'subresource', 'persistent', 'sideEffects', 'ignoreFailures'],
  ],
  // A request is allowed or denied at once: there is no retry.
  errors: 'permanent',
  successLevel: 'info',
}

export const admissionDefinition: HandlerDefinition<'admission'> = {
  category: 'admission',
  types: { validate: info, mutate: info },
  parse: ({ options, subject }) => ({
    category: 'admission',
    admission: {
      operations: readOperations(options['operations'], subject),
      subresource: readSubresource(options['subresource'], subject),
      persistent: readFlag(options, 'persistent', subject),
      sideEffects: readFlag(options, 'sideEffects', subject),
      ignoreFailures: readFlag(options, 'ignoreFailures', subject),
    },
  }),
  idPurpose: 'the API server calls them by the id',
  // The path of the webhook has the id, and does not say whether a validating or a mutating handler is meant.
  isDuplicate: (a, b) => a.id === b.id && (a.type !== b.type || a.fn !== b.fn),
  args: [...retryArgs, 'patch'],
  result: 'discarded',
  keepsPatch: ({ type }) => type === 'mutate',
  isWebhook: true,
  hasEssentialField: false,
  patchesObjects: false,
  explain: ({ admission }) => ({
    verdict: 'later',
    why: `The API server asks it before the object is stored (${admission.operations?.join(', ') ?? 'any operation'})`,
  }),
}

const operations: readonly AdmissionOperation[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT']

/** Undefined for all of them. */
function readOperations(value: unknown, subject: string): readonly AdmissionOperation[] | undefined {
  if (value === undefined) return undefined
  if (!Array.isArray(value) || value.length === 0) {
    return throwOptionError(
      subject,
      `"operations" must be a list such as ["CREATE", "UPDATE"]; leave it out for all operations`,
    )
  }
  for (const one of value) {
    if (!operations.includes(one))
      throwOptionError(subject, `"operations" has ${JSON.stringify(one)}: there are ${operations.join(', ')}`)
  }
  return Object.freeze([...new Set(value as AdmissionOperation[])])
}

function readSubresource(value: unknown, subject: string): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && /^(\*|[a-z]([-a-z0-9]*[a-z0-9])?)$/.test(value)) return value
  return throwOptionError(
    subject,
    `"subresource" must be a name such as "status", or "*" for the object and all its subresources`,
  )
}
