/** The definition of conversion handlers (`on.convert`): the API server calls them for objects in another version of a CRD. */
import { commonOptions, type HandlerDefinition } from '../handlers/definition.ts'
import { type Options, throwOptionError } from '../handlers/options.ts'

export const conversionDefinition: HandlerDefinition<'conversion'> = {
  category: 'conversion',
  types: {
    convert: {
      title: 'Handler',
      options: [...commonOptions, 'from', 'to'],
      errors: 'permanent',
      successLevel: 'debug',
    },
  },
  parse: ({ options, subject }) => {
    const [from, to] = [readVersion(options, 'from', subject), readVersion(options, 'to', subject)]
    if (from === to) throwOptionError(subject, `"from" and "to" are the same version "${to}"`)
    return { category: 'conversion', conversion: { from, to } }
  },
  idPurpose: 'there is one way from a version to another',
  completeId: (id, { conversion }) => `${id}/${conversion.from}-${conversion.to}`,
  isDuplicate: (a, b) =>
    a.fn !== b.fn && a.conversion.from === b.conversion.from && a.conversion.to === b.conversion.to,
  args: [],
  result: 'own',
  isWebhook: true,
  hasEssentialField: false,
  patchesObjects: false,
  explain: ({ conversion }) => ({
    verdict: 'later',
    why: `The API server asks it for objects of ${conversion.from} in ${conversion.to}`,
  }),
}

/** A version such as `v1beta1`, or a definition that has one. */
function readVersion(options: Options, name: 'from' | 'to', subject: string): string {
  const value = options[name]
  const version = typeof value === 'object' && value !== null ? (value as { version?: unknown }).version : value
  if (typeof version === 'string' && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(version)) return version
  return throwOptionError(subject, `"${name}" is a version of it: { from: "v1", to: "v2" }`)
}
