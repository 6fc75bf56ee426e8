/** `semver('1.2.3-rc.1')`: versions in the order defined by semver.org. */
import { toBoundedBigInt } from '../../../util/text/bounded-integers.ts'
import { fail } from '../failures.ts'
import { global, type Library, member } from '../functions.ts'
import { boolType, intType, stringType, struct } from '../types.ts'
import { type CelValue, Opaque } from '../values.ts'
import { goQuote } from './go-quote.ts'

const type = struct('kubernetes.Semver')

class Semver extends Opaque {
  readonly typeName = 'kubernetes.Semver'
  readonly numbers: readonly bigint[]
  readonly pre: readonly string[]

  constructor(numbers: readonly bigint[], pre: readonly string[]) {
    super()
    this.numbers = numbers
    this.pre = pre
  }

  equals(other: Opaque): boolean {
    return compareVersions(this, other as Semver) === 0n
  }
}

/** Build metadata is ignored. */
function compareVersions(left: Semver, right: Semver): bigint {
  for (const [index, number] of left.numbers.entries()) {
    if (number !== right.numbers[index]!) return number > right.numbers[index]! ? 1n : -1n
  }
  if (left.pre.length === 0 || right.pre.length === 0) {
    return left.pre.length === right.pre.length ? 0n : left.pre.length === 0 ? 1n : -1n
  }
  for (let index = 0; index < Math.max(left.pre.length, right.pre.length); index += 1) {
    const order = comparePre(left.pre[index], right.pre[index])
    if (order !== 0n) return order
  }
  return 0n
}

/** Numeric identifiers precede alphanumeric ones, and a shorter list of identifiers precedes a longer one. */
function comparePre(left: string | undefined, right: string | undefined): bigint {
  if (left === right) return 0n
  if (left === undefined || right === undefined) return left === undefined ? -1n : 1n
  const [isNumber, isOtherNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)]
  // Without leading zeros, the number with more digits is larger.
  if (isNumber && isOtherNumber && left.length !== right.length) return left.length > right.length ? 1n : -1n
  if (isNumber !== isOtherNumber) return isNumber ? -1n : 1n
  return left > right ? 1n : -1n
}

const maxUint64 = 2n ** 64n - 1n

function numberOf(text: string, name: string): bigint | string {
  if (!/^\d+$/.test(text)) return `Invalid character(s) found in ${name} number ${goQuote(text)}`
  if (text.length > 1 && text.startsWith('0')) {
    return `${name[0]!.toUpperCase()}${name.slice(1)} number must not contain leading zeroes ${goQuote(text)}`
  }
  const value = toBoundedBigInt(text)
  return value > maxUint64 ? `strconv.ParseUint: parsing ${goQuote(text)}: value out of range` : value
}

function parse(text: string): Semver | string {
  if (text === '') return 'Version string empty'
  const [major, minor, ...others] = text.split('.')
  if (others.length === 0) return 'No Major.Minor.Patch elements found'
  let rest = others.join('.')
  const plus = rest.indexOf('+')
  const builds = plus < 0 ? [] : rest.slice(plus + 1).split('.')
  if (plus >= 0) rest = rest.slice(0, plus)
  const dash = rest.indexOf('-')
  const pre = dash < 0 ? [] : rest.slice(dash + 1).split('.')
  const patch = dash < 0 ? rest : rest.slice(0, dash)
  const numbers = [numberOf(major!, 'major'), numberOf(minor!, 'minor'), numberOf(patch, 'patch')]
  const problem = numbers.find((one) => typeof one === 'string') ?? partProblem(pre, builds)
  return typeof problem === 'string' ? problem : new Semver(numbers as bigint[], pre)
}

function partProblem(pre: readonly string[], builds: readonly string[]): string | undefined {
  for (const part of pre) {
    if (part === '') return 'Prerelease is empty'
    if (/[^0-9A-Za-z-]/.test(part)) return `Invalid character(s) found in prerelease ${goQuote(part)}`
    if (/^0\d+$/.test(part)) return `Numeric PreRelease version must not contain leading zeroes ${goQuote(part)}`
  }
  for (const part of builds) {
    if (part === '') return 'Build meta data is empty'
    if (/[^0-9A-Za-z-]/.test(part)) return `Invalid character(s) found in build meta data ${goQuote(part)}`
  }
  return undefined
}

/** `v1.2` → `1.2.0`, `1.02.3` → `1.2.3`. */
function normalize(text: string): Semver | string {
  const [major, minor, ...others] = text.replace(/^v/, '').split('.')
  const parts = [major, minor, others.length > 0 ? others.join('.') : undefined]
    .filter((part): part is string => part !== undefined)
    .map((part) => (part.length > 1 ? part.replace(/^0+(?=\d)/, '').replace(/^0*(?=$|\D)/, '0') : part))
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!)) return 'short version cannot contain PreRelease/Build meta data'
  return parse([...parts, '0', '0'].slice(0, 3).join('.'))
}

const read = ([text, isNormalized = false]: readonly CelValue[]): Semver | string =>
  isNormalized ? normalize(text as string) : parse(text as string)

function toSemver(args: readonly CelValue[]): Semver {
  const parsed = read(args)
  return typeof parsed === 'string' ? fail(parsed) : parsed
}

const order = ([left, right]: readonly CelValue[]): bigint => compareVersions(left as Semver, right as Semver)
const part = (id: string, index: number) =>
  member(id, [type], intType, ([version]) => (version as Semver).numbers[index]!)

export const semver: Library = {
  semver: [
    global('string_to_semver', [stringType], type, toSemver),
    global('string_bool_to_semver', [stringType, boolType], type, toSemver),
  ],
  isSemver: [
    global('is_semver_string', [stringType], boolType, (args) => typeof read(args) !== 'string'),
    global('is_semver_string_bool', [stringType, boolType], boolType, (args) => typeof read(args) !== 'string'),
  ],
  isGreaterThan: [member('semver_is_greater_than', [type, type], boolType, (args) => order(args) > 0n)],
  isLessThan: [member('semver_is_less_than', [type, type], boolType, (args) => order(args) < 0n)],
  compareTo: [member('semver_compare_to', [type, type], intType, order)],
  major: [part('semver_major', 0)],
  minor: [part('semver_minor', 1)],
  patch: [part('semver_patch', 2)],
}
