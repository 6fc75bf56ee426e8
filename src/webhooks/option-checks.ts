/** Whether options are what they should be: asked when a server is made, not when it is started. */
import { KopfError } from '../errors.ts'
import { isDuration } from '../util/duration.ts'
import { suggestName } from '../util/suggestions.ts'

export interface Check {
  readonly expected: string
  readonly isRight: (value: unknown) => boolean
}

export const textCheck: Check = {
  expected: 'a string that is not empty',
  isRight: (value) => typeof value === 'string' && value !== '',
}
export const portCheck: Check = {
  expected: 'a number from 1 to 65535, or 0 for any that is free',
  isRight: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65_535,
}
export const pathCheck: Check = {
  expected: 'the path of a URL, such as "/hooks"',
  isRight: (value) => typeof value === 'string' && /^[\w\-.~!$&'()*+,;=:@%/]*$/.test(value),
}
export const durationCheck: Check = {
  expected: 'a number of seconds, or a string such as "10s", and more than nothing',
  isRight: (value) => isDuration(value) && Number.parseFloat(String(value)) > 0,
}

/** The options without those that are undefined. */
export function checkOptions<T extends object>(options: T, checks: Readonly<Record<keyof T, Check>>): T {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  for (const [name, value] of given) {
    if (!Object.hasOwn(checks, name)) refuseUnknown(name, Object.keys(checks))
    const { expected, isRight } = checks[name as keyof T]
    if (!isRight(value)) refuseOptions(`"${name}" is to be ${expected}`)
  }
  return Object.fromEntries(given) as T
}

export function refuseOptions(why: string): never {
  throw new KopfError('KOPF_WEBHOOK_SERVER', `Cannot make a webhook server: ${why}`)
}

function refuseUnknown(name: string, known: readonly string[]): never {
  const meant = suggestName(name, known)
  const advice = meant === undefined ? `there are ${known.join(', ')}` : `did you mean "${meant}"?`
  return refuseOptions(`there is no option "${name}"; ${advice}`)
}
