/** Checks of setting values, one per type of value. Used by the table in schema.ts; knows no setting by name. */
import { type Duration, isDuration } from '../util/text/duration.ts'
import { SelectorMap, type SelectorMapSource } from './selector-map.ts'
import type { WebhookServerLike } from './webhook-server.ts'

/**
 * The delays between attempts: one duration for a single retry, or one per retry. Any iterable that can be iterated repeatedly, even an
 * infinite one.
 */
export type BackoffDelays = Duration | Iterable<Duration>

/** The check of one setting. */
export interface SettingCheck<V> {
  /** Describes valid values, for the error message. */
  readonly expected: string
  /** Whether the value is left out of error messages. */
  readonly isSecret?: boolean
  /** Returns the value to keep; undefined for an invalid value. */
  accept(value: unknown): V | undefined
}

function check<V>(expected: string, isRight: (value: unknown) => value is V): SettingCheck<V> {
  return { expected, accept: (value) => (isRight(value) ? value : undefined) }
}

export const flag: SettingCheck<boolean> = check('true or false', (value) => typeof value === 'boolean')

export const text: SettingCheck<string> = check(
  'a string that is not empty',
  (value): value is string => typeof value === 'string' && value !== '',
)

export const duration: SettingCheck<Duration> = check('a number of seconds or a string such as "10s"', isDuration)

export function integer(min: number): SettingCheck<number> {
  const expected = min === Number.MIN_SAFE_INTEGER ? 'a whole number' : `a whole number of at least ${min}`
  return check(
    expected,
    (value): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= min,
  )
}

export function oneOf<const V extends string>(...values: V[]): SettingCheck<V> {
  return check(`one of ${values.map((value) => `"${value}"`).join(', ')}`, (value): value is V =>
    (values as unknown[]).includes(value),
  )
}

export function orNull<V>({ expected, accept }: SettingCheck<V>): SettingCheck<V | null> {
  return { expected: `${expected}, or null`, accept: (value) => (value === null ? null : accept(value)) }
}

export function objectWith<V extends object>(what: string, ...methods: (keyof V & string)[]): SettingCheck<V> {
  const expected = `${what}: an object with ${methods.map((name) => `"${name}"`).join(', ')}`
  return check(
    expected,
    (value): value is V =>
      typeof value === 'object' &&
      value !== null &&
      methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function'),
  )
}

export const webhookServer: SettingCheck<WebhookServerLike> = check(
  'a webhook server such as `new WebhookServer()` of kopf/webhooks, or a function that serves',
  (value): value is WebhookServerLike =>
    typeof value === 'function' || typeof (value as { serve?: unknown } | null)?.serve === 'function',
)

export const durations: SettingCheck<Iterable<Duration>> = check(
  'a list of durations, such as [1, 2, "5s"], or another iterable that can be iterated repeatedly',
  isDurations,
)

export const backoffs: SettingCheck<BackoffDelays> = check(
  `a duration, or ${durations.expected}`,
  (value): value is BackoffDelays => isDuration(value) || isDurations(value),
)

/** HMAC-SHA256 has the strength of 32 random bytes. A shorter key could be guessed. */
export const signingKeys: SettingCheck<readonly string[]> = {
  ...check(
    'a list of texts of at least 32 characters, such as `openssl rand -base64 32` prints',
    (value): value is readonly string[] =>
      Array.isArray(value) && value.every((key) => typeof key === 'string' && key.length >= 32),
  ),
  isSecret: true,
}

/** Checks the elements of arrays only: other iterables may be infinite. */
function isDurations(value: unknown): value is Iterable<Duration> {
  if (Array.isArray(value)) return value.every(isDuration)
  if (typeof value !== 'object' || value === null) return false
  const { [Symbol.iterator]: iterate } = value as Partial<Iterable<unknown>>
  // A generator is its own iterator: the first failing request would exhaust it.
  return typeof iterate === 'function' && iterate.call(value) !== value
}

/** The API server requires three parts in a webhook name. A handler id may be one part only, so the configuration name needs a dot. */
export const configurationName: SettingCheck<string> = check(
  'a name with a dot in it, such as "auto.kopf.dev", in lower case and of at most 180 characters',
  (value): value is string =>
    typeof value === 'string' &&
    value.length <= 180 &&
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$/.test(value),
)

/** A valid name of an object or a namespace (DNS subdomain). */
export const objectName: SettingCheck<string> = check(
  'the name of an object, such as "my-operator": lower case letters, digits, "-" and ".", at most 253 characters',
  (value): value is string =>
    typeof value === 'string' &&
    value.length <= 253 &&
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value),
)

/** Kubernetes rejects every write of an object with a finalizer that is not a qualified name. */
export const finalizerName: SettingCheck<string> = check(
  'a name such as "example.com/my-finalizer"',
  (value): value is string =>
    typeof value === 'string' &&
    /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/.test(value),
)

/** Kubernetes rejects every apply with another field manager: validation.ValidateFieldManager. */
export const fieldManagerName: SettingCheck<string> = check(
  'a name of 1 to 128 printable characters',
  (value): value is string => typeof value === 'string' && /^[\x20-\x7e]{1,128}$/.test(value),
)

export const selectorMap: SettingCheck<SelectorMap> = {
  expected: 'a SelectorMap, pairs of a resource and a string, or an object of strings',
  accept(value) {
    if (value instanceof SelectorMap) return value
    if (typeof value !== 'object' || value === null) return undefined
    return new SelectorMap(value as SelectorMapSource)
  },
}
