/** What a setting may be: one check per type of value. Used by the table in settings-knobs.ts; knows no setting by name. */
import { type Duration, isDuration } from '../util/duration.ts'
import { SelectorMap, type SelectorMapSource } from './settings-selectors.ts'
import type { WebhookServerLike } from './webhook-server.ts'

/** One delay for all attempts, or one per attempt; anything that can be iterated over and over, even without an end. */
export type Backoffs = Duration | Iterable<Duration>

export interface Check<V> {
  /** What would be right, for the error. */
  readonly expected: string
  /** The value must not be repeated in an error. */
  readonly isSecret?: boolean
  /** The value as it is kept; undefined where it will not do. */
  accept(value: unknown): V | undefined
}

function check<V>(expected: string, isRight: (value: unknown) => value is V): Check<V> {
  return { expected, accept: (value) => (isRight(value) ? value : undefined) }
}

export const flag: Check<boolean> = check('true or false', (value) => typeof value === 'boolean')

export const text: Check<string> = check(
  'a string that is not empty',
  (value): value is string => typeof value === 'string' && value !== '',
)

export const duration: Check<Duration> = check('a number of seconds or a string such as "10s"', isDuration)

export function integer(least: number): Check<number> {
  const expected = least === Number.MIN_SAFE_INTEGER ? 'a whole number' : `a whole number of at least ${least}`
  return check(
    expected,
    (value): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= least,
  )
}

export function oneOf<const V extends string>(...values: V[]): Check<V> {
  return check(`one of ${values.map((value) => `"${value}"`).join(', ')}`, (value): value is V =>
    (values as unknown[]).includes(value),
  )
}

export function orNull<V>({ expected, accept }: Check<V>): Check<V | null> {
  return { expected: `${expected}, or null`, accept: (value) => (value === null ? null : accept(value)) }
}

export const anyObject: Check<object> = check(
  'an object or a function',
  (value): value is object => (typeof value === 'object' && value !== null) || typeof value === 'function',
)

export function objectWith<V extends object>(what: string, ...methods: (keyof V & string)[]): Check<V> {
  const expected = `${what}: an object with ${methods.map((name) => `"${name}"`).join(', ')}`
  return check(
    expected,
    (value): value is V =>
      typeof value === 'object' &&
      value !== null &&
      methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function'),
  )
}

export const webhookServer: Check<WebhookServerLike> = check(
  'a webhook server such as `new WebhookServer()` of kopf/webhooks, or a function that serves',
  (value): value is WebhookServerLike =>
    typeof value === 'function' || typeof (value as { serve?: unknown } | null)?.serve === 'function',
)

export const durations: Check<Iterable<Duration>> = check(
  'a list of durations, such as [1, 2, "5s"], or another iterable that can be started anew',
  isDurations,
)

export const backoffs: Check<Backoffs> = check(
  `a duration, or ${durations.expected}`,
  (value): value is Backoffs => isDuration(value) || isDurations(value),
)

/** HMAC-SHA256 is as strong as 32 random bytes; a text that is shorter could be guessed. */
export const signingKeys: Check<readonly string[]> = {
  ...check(
    'a list of texts of at least 32 characters, such as `openssl rand -base64 32` prints',
    (value): value is readonly string[] =>
      Array.isArray(value) && value.every((key) => typeof key === 'string' && key.length >= 32),
  ),
  isSecret: true,
}

/** Iterables other than lists may have no end, so only lists are looked into. */
function isDurations(value: unknown): value is Iterable<Duration> {
  if (Array.isArray(value)) return value.every(isDuration)
  if (typeof value !== 'object' || value === null) return false
  const { [Symbol.iterator]: iterate } = value as Partial<Iterable<unknown>>
  // A generator is its own iterator: it would be used up by the first request that fails.
  return typeof iterate === 'function' && iterate.call(value) !== value
}

/** With a dot: the API server wants three parts in the names of webhooks, and the id of a handler may be only one. */
export const configurationName: Check<string> = check(
  'a name with a dot in it, such as "auto.kopf.dev", in lower case and of at most 180 characters',
  (value): value is string =>
    typeof value === 'string' &&
    value.length <= 180 &&
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$/.test(value),
)

/** What objects and namespaces can be called. */
export const objectName: Check<string> = check(
  'the name of an object, such as "my-operator": lower case letters, digits, "-" and ".", at most 253 characters',
  (value): value is string =>
    typeof value === 'string' &&
    value.length <= 253 &&
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value),
)

/** Kubernetes refuses finalizers that are not qualified names, with every write that carries one. */
export const finalizerName: Check<string> = check(
  'a name such as "example.com/my-finalizer"',
  (value): value is string =>
    typeof value === 'string' &&
    /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/.test(value),
)

/** Kubernetes refuses others, with every apply. */
export const fieldManagerName: Check<string> = check(
  'a name of 1 to 128 printable characters',
  (value): value is string => typeof value === 'string' && /^[\x20-\x7e]{1,128}$/.test(value),
)

export const selectorMap: Check<SelectorMap> = {
  expected: 'a SelectorMap, pairs of a resource and a string, or an object of strings',
  accept(value) {
    if (value instanceof SelectorMap) return value
    if (typeof value !== 'object' || value === null) return undefined
    return new SelectorMap(value as SelectorMapSource)
  },
}
