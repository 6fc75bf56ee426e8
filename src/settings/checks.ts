/** Checks of values that only settings have. The common checks are in util/option-checks.ts. Used by the table in schema.ts. */
import { type AddressDefaults, parseEndpointAddress } from '../serving/address.ts'
import { createCheck, type OptionCheck } from '../util/option-checks.ts'
import { type Duration, isDuration } from '../util/text/duration.ts'
import type { BackoffDelays } from './groups.ts'
import { SelectorMap, type SelectorMapSource } from './selector-map.ts'
import type { WebhookServerLike } from './webhook-server.ts'

export function objectWith<V extends object>(what: string, ...methods: (keyof V & string)[]): OptionCheck<V> {
  const expected = `${what}: an object with ${methods.map((name) => `"${name}"`).join(', ')}`
  return createCheck(
    expected,
    (value): value is V =>
      typeof value === 'object' &&
      value !== null &&
      methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function'),
  )
}

export const webhookServer: OptionCheck<WebhookServerLike> = createCheck(
  'a webhook server such as `new WebhookServer()` of kopf/webhooks, or a function that serves',
  (value): value is WebhookServerLike =>
    typeof value === 'function' || typeof (value as { serve?: unknown } | null)?.serve === 'function',
)

export const durations: OptionCheck<Iterable<Duration>> = createCheck(
  'a list of durations, such as [1, 2, "5s"], or another iterable that can be iterated repeatedly',
  isDurations,
)

export const backoffs: OptionCheck<BackoffDelays> = createCheck(
  `a duration, or ${durations.expected}`,
  (value): value is BackoffDelays => isDuration(value) || isDurations(value),
)

/** HMAC-SHA256 has the strength of 32 random bytes. A shorter key could be guessed. */
export const signingKeys: OptionCheck<readonly string[]> = {
  ...createCheck(
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
export const configurationName: OptionCheck<string> = createCheck(
  'a name with a dot in it, such as "auto.kopf.dev", in lower case and of at most 180 characters',
  (value): value is string =>
    typeof value === 'string' &&
    value.length <= 180 &&
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$/.test(value),
)

/** A valid name of an object or a namespace (DNS subdomain). */
export const objectName: OptionCheck<string> = createCheck(
  'the name of an object, such as "my-operator": lower case letters, digits, "-" and ".", at most 253 characters',
  (value): value is string =>
    typeof value === 'string' &&
    value.length <= 253 &&
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value),
)

/** Kubernetes rejects every write of an object with a finalizer that is not a qualified name. */
export const finalizerName: OptionCheck<string> = createCheck(
  'a name such as "example.com/my-finalizer"',
  (value): value is string =>
    typeof value === 'string' &&
    /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/.test(value),
)

/** Kubernetes rejects every apply with another field manager: validation.ValidateFieldManager. */
export const fieldManagerName: OptionCheck<string> = createCheck(
  'a name of 1 to 128 printable characters',
  (value): value is string => typeof value === 'string' && /^[\x20-\x7e]{1,128}$/.test(value),
)

/** The address of an HTTP endpoint. The owner of the endpoint parses it again when it starts it. */
export function endpointAddress(defaults: Omit<AddressDefaults, 'fail'>): OptionCheck<string> {
  const { defaultPort, defaultPath = '' } = defaults
  const refuse = () => {
    throw new Error('refused')
  }
  const isValid = (address: string) => {
    try {
      return parseEndpointAddress(address, { ...defaults, fail: refuse }) !== undefined
    } catch {
      return false
    }
  }
  return createCheck(
    `an address such as ":${defaultPort}", "localhost:${defaultPort}" or "https://0.0.0.0:${defaultPort}${defaultPath}"`,
    (value): value is string => typeof value === 'string' && isValid(value),
  )
}

export const selectorMap: OptionCheck<SelectorMap> = {
  expected: 'a SelectorMap, pairs of a resource and a string, or an object of strings',
  accept(value) {
    if (value instanceof SelectorMap) return value
    if (typeof value !== 'object' || value === null) return undefined
    return new SelectorMap(value as SelectorMapSource)
  },
}
