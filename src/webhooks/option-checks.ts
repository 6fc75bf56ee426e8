/** Checks of values that only webhook servers have, and their error. The common checks are in util/option-checks.ts. */
import { KopfError } from '../errors.ts'
import { createCheck, type OptionCheck } from '../util/option-checks.ts'
import { type Duration, isDuration } from '../util/text/duration.ts'

export const port: OptionCheck<number> = createCheck(
  'a number from 1 to 65535, or 0 for any free port',
  (value): value is number => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65_535,
)

export const urlPath: OptionCheck<string> = createCheck(
  'the path of a URL, such as "/hooks"',
  (value): value is string => typeof value === 'string' && /^[\w\-.~!$&'()*+,;=:@%/]*$/.test(value),
)

export const positiveDuration: OptionCheck<Duration> = createCheck(
  'a number of seconds, or a string such as "10s", above zero',
  (value): value is Duration => isDuration(value) && Number.parseFloat(String(value)) > 0,
)

export function throwOptionsError(why: string): never {
  throw new KopfError('KOPF_WEBHOOK_SERVER', `Cannot create a webhook server: ${why}`)
}
