/**
 * Checks of option values and option names: for settings, the options of handlers and the options of webhook servers. Each check describes valid values,
 * so that every error says what is expected. Knows no option by name.
 */
import { suggestName } from './text/did-you-mean.ts'
import { type Duration, isDuration } from './text/duration.ts'

/** The check of one option. */
export interface OptionCheck<V = unknown> {
  /** Describes valid values, for the error message. */
  readonly expected: string
  /** Whether the value is left out of error messages. */
  readonly isSecret?: boolean
  /** Returns the value to keep; undefined for an invalid value. */
  accept(value: unknown): V | undefined
}

export function createCheck<V>(expected: string, isValid: (value: unknown) => value is V): OptionCheck<V> {
  return { expected, accept: (value) => (isValid(value) ? value : undefined) }
}

export const flag: OptionCheck<boolean> = createCheck('true or false', (value) => typeof value === 'boolean')

export const text: OptionCheck<string> = createCheck(
  'a string that is not empty',
  (value): value is string => typeof value === 'string' && value !== '',
)

export const duration: OptionCheck<Duration> = createCheck('a number of seconds or a string such as "10s"', isDuration)

export function integer(min: number): OptionCheck<number> {
  const expected = min === Number.MIN_SAFE_INTEGER ? 'a whole number' : `a whole number of at least ${min}`
  return createCheck(
    expected,
    (value): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= min,
  )
}

export function oneOf<const V extends string>(...values: V[]): OptionCheck<V> {
  return createCheck(`one of ${values.map((value) => `"${value}"`).join(', ')}`, (value): value is V =>
    (values as unknown[]).includes(value),
  )
}

export function orNull<V>({ expected, accept }: OptionCheck<V>): OptionCheck<V | null> {
  return { expected: `${expected}, or null`, accept: (value) => (value === null ? null : accept(value)) }
}

/** The options that are not undefined. `fail` throws the error of the caller. */
export function checkOptions<T extends object>(
  options: T,
  checks: Readonly<Record<keyof T, OptionCheck>>,
  fail: (problem: string) => never,
): T {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  checkNames(
    given.map(([name]) => name),
    Object.keys(checks),
    fail,
  )
  for (const [name, value] of given) {
    const { expected, accept } = checks[name as keyof T]
    if (accept(value) === undefined) fail(`"${name}" must be ${expected}`)
  }
  return Object.fromEntries(given) as T
}

/** Fails for an unknown option, with a suggestion. */
export function checkNames(names: readonly string[], known: readonly string[], fail: (problem: string) => never): void {
  for (const name of names) if (!known.includes(name)) fail(`it has no option "${name}"; ${adviseName(name, known)}`)
}

/** The most similar known name, or all of them. */
export function adviseName(name: string, known: readonly string[]): string {
  const meant = suggestName(name, known)
  return meant === undefined ? `there are ${known.map((each) => `"${each}"`).join(', ')}` : `did you mean "${meant}"?`
}
