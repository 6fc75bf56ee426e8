/** Ranges of sizes and costs. Sums and products saturate at the maximum of 64 bits. */

export interface Range {
  readonly min: number
  readonly max: number
}

/** 2^64: the exact maximum is not a double, and nothing depends on the difference. */
export const maxEstimate: number = 2 ** 64

const cap = (value: number): number => Math.min(value, maxEstimate)

export const fixed = (value: number): Range => ({ min: value, max: value })
export const unknown: Range = { min: 0, max: maxEstimate }

export const add = (left: Range, right: Range): Range => ({
  min: cap(left.min + right.min),
  max: cap(left.max + right.max),
})

export const times = (left: Range, right: Range): Range => ({
  min: cap(left.min * right.min),
  max: cap(left.max * right.max),
})

/** Rounds up, as costs do. */
export const scale = ({ min, max }: Range, factor: number): Range => ({
  min: cap(Math.ceil(min * factor)),
  max: cap(Math.ceil(max * factor)),
})

export const union = (left: Range, right: Range): Range => ({
  min: Math.min(left.min, right.min),
  max: Math.max(left.max, right.max),
})
