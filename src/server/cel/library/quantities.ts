/** `quantity('1.5Gi')`: quantities parsed like apimachinery's resource.Quantity. */
import { parseQuantity } from '../../../kube/quantities.ts'
import { fail, noSuchOverload } from '../failures.ts'
import { global, type Library, member } from '../functions.ts'
import { boolType, doubleType, intType, stringType, struct } from '../types.ts'
import { type CelValue, Opaque } from '../values.ts'
import { maxInt, minInt } from './operators.ts'

const type = struct('kubernetes.Quantity')
const billion = 1_000_000_000n

class QuantityValue extends Opaque {
  readonly typeName = 'kubernetes.Quantity'
  readonly nanos: bigint
  /** True if the text has no decimals. Only then is the quantity an integer, whatever its value. */
  readonly isWhole: boolean
  /** True for sums and differences. As the right operand of `==` they are an error, as in the real server. */
  readonly isComputed: boolean

  constructor(nanos: bigint, isWhole: boolean, isComputed: boolean) {
    super()
    this.nanos = nanos
    this.isWhole = isWhole
    this.isComputed = isComputed
  }

  equals(other: Opaque): boolean {
    const { nanos, isComputed } = other as QuantityValue
    return isComputed ? noSuchOverload() : nanos === this.nanos
  }

  /** Undefined if the quantity is not an integer or exceeds int64. */
  get whole(): bigint | undefined {
    if (!this.isWhole || this.nanos % billion !== 0n) return undefined
    const value = this.nanos / billion
    return value > maxInt || value < minInt ? undefined : value
  }
}

const nanosOf = (value: CelValue | undefined): bigint =>
  typeof value === 'bigint' ? value * billion : (value as QuantityValue).nanos

function signOf(value: bigint): bigint {
  if (value === 0n) return 0n
  return value > 0n ? 1n : -1n
}

const difference = ([left, right]: readonly CelValue[]): bigint => signOf(nanosOf(left) - nanosOf(right))
const isWhole = (value: CelValue | undefined): boolean => !(value instanceof QuantityValue) || value.isWhole
const combine =
  (sign: 1n | -1n) =>
  ([left, right]: readonly CelValue[]): QuantityValue =>
    new QuantityValue(nanosOf(left) + sign * nanosOf(right), isWhole(left) && isWhole(right), true)
const sum = combine(1n)
const rest = combine(-1n)

export const quantities: Library = {
  quantity: [
    global('string_to_quantity', [stringType], type, ([text]) => {
      const parsed = parseQuantity(text as string)
      return typeof parsed === 'string'
        ? fail(parsed)
        : new QuantityValue(parsed.nanos, !/[.mun-]/.test((text as string).slice(1)), false)
    }),
  ],
  isQuantity: [
    global('is_quantity_string', [stringType], boolType, ([text]) => typeof parseQuantity(text as string) !== 'string'),
  ],
  sign: [global('quantity_sign', [type], intType, ([value]) => signOf(nanosOf(value)))],
  isGreaterThan: [member('quantity_is_greater_than', [type, type], boolType, (args) => difference(args) > 0n)],
  isLessThan: [member('quantity_is_less_than', [type, type], boolType, (args) => difference(args) < 0n)],
  compareTo: [member('quantity_compare_to', [type, type], intType, difference)],
  asApproximateFloat: [
    member('quantity_get_float', [type], doubleType, ([value]) => {
      const nanos = nanosOf(value)
      return Number(nanos / billion) + Number(nanos % billion) / 1e9
    }),
  ],
  asInteger: [
    member('quantity_get_int', [type], intType, ([value]) => {
      return (value as QuantityValue).whole ?? fail('cannot convert value to integer')
    }),
  ],
  isInteger: [
    member('quantity_is_integer', [type], boolType, ([value]) => (value as QuantityValue).whole !== undefined),
  ],
  add: [member('quantity_add', [type, type], type, sum), member('quantity_add_int', [type, intType], type, sum)],
  sub: [member('quantity_sub', [type, type], type, rest), member('quantity_sub_int', [type, intType], type, rest)],
}
