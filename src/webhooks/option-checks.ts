/** Whether options are what they should be: asked when a server is made, not when it is started. */
import { KopfError } from '../errors.ts'
import { suggestName } from '../util/text/did-you-mean.ts'
import { isDuration } from '../util/text/duration.ts'

export interface OptionCheck {
  readonly expected: string
  readonly isValid: (value: unknown) => boolean
}

export const textCheck: OptionCheck = {
  expected: 'a string that is not empty',
  isValid: (value) => typeof value === 'string' && value !== '',
}
export const portCheck: OptionCheck = {
  expected: 'a number from 1 to 65535, or 0 for any that is free',
  isValid: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65_535,
}
export const pathCheck: OptionCheck = {
  expected: 'the path of a URL, such as "/hooks"',
  isValid: (value) => typeof value === 'string' && /^[\w\-.~!$&'()*+,;=:@%/]*$/.test(value),
}
export const durationCheck: OptionCheck = {
  expected: 'a number of seconds, or a string such as "10s", and more than nothing',
  isValid: (value) => isDuration(value) && Number.parseFloat(String(value)) > 0,
}

/** The options without those that are undefined. */
export function checkOptions<T extends object>(options: T, checks: Readonly<Record<keyof T, OptionCheck>>): T {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  for (const [name, value] of given) {
    if (!Object.hasOwn(checks, name)) throwUnknownOption(name, Object.keys(checks))
    const { expected, isValid } = checks[name as keyof T]
    if (!isValid(value)) throwOptionsError(`"${name}" is to be ${expected}`)
  }
  return Object.fromEntries(given) as T
}

export function throwOptionsError(why: string): never {
  throw new KopfError('KOPF_WEBHOOK_SERVER', `Cannot make a webhook server: ${why}`)
}

function throwUnknownOption(name: string, known: readonly string[]): never {
  const meant = suggestName(name, known)
  const advice = meant === undefined ? `there are ${known.join(', ')}` : `did you mean "${meant}"?`
  return throwOptionsError(`there is no option "${name}"; ${advice}`)
}
