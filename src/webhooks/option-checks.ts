/** Checks the options of webhook servers in their constructors: unknown names and invalid values. */
import { KopfError } from '../errors.ts'
import { suggestName } from '../util/text/did-you-mean.ts'
import { isDuration } from '../util/text/duration.ts'

export interface OptionCheck {
  /** Describes valid values, for the error message. */
  readonly expected: string
  readonly isValid: (value: unknown) => boolean
}

export const textCheck: OptionCheck = {
  expected: 'a string that is not empty',
  isValid: (value) => typeof value === 'string' && value !== '',
}
export const portCheck: OptionCheck = {
  expected: 'a number from 1 to 65535, or 0 for any free port',
  isValid: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65_535,
}
export const pathCheck: OptionCheck = {
  expected: 'the path of a URL, such as "/hooks"',
  isValid: (value) => typeof value === 'string' && /^[\w\-.~!$&'()*+,;=:@%/]*$/.test(value),
}
export const durationCheck: OptionCheck = {
  expected: 'a number of seconds, or a string such as "10s", above zero',
  isValid: (value) => isDuration(value) && Number.parseFloat(String(value)) > 0,
}

/** Returns the options without undefined values. Throws for an unknown option, with a suggestion, and for an invalid value. */
export function checkOptions<T extends object>(options: T, checks: Readonly<Record<keyof T, OptionCheck>>): T {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  for (const [name, value] of given) {
    if (!Object.hasOwn(checks, name)) throwUnknownOption(name, Object.keys(checks))
    const { expected, isValid } = checks[name as keyof T]
    if (!isValid(value)) throwOptionsError(`"${name}" must be ${expected}`)
  }
  return Object.fromEntries(given) as T
}

export function throwOptionsError(why: string): never {
  throw new KopfError('KOPF_WEBHOOK_SERVER', `Cannot create a webhook server: ${why}`)
}

function throwUnknownOption(name: string, known: readonly string[]): never {
  const meant = suggestName(name, known)
  const advice = meant === undefined ? `the options are ${known.join(', ')}` : `did you mean "${meant}"?`
  return throwOptionsError(`there is no option "${name}"; ${advice}`)
}
