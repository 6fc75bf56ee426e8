/** Sizes and costs that lie between two bounds. Sums and products stop at the largest number of 64 bits. */

export interface Range {
  readonly min: number
  readonly max: number
}

/** 2^64: the largest number itself is no double, and nothing depends on the difference. */
export const most: number = 2 ** 64

const cap = (value: number): number => Math.min(value, most)

export const fixed = (value: number): Range => ({ min: value, max: value })
export const unknown: Range = { min: 0, max: most }

export const add = (left: Range, right: Range): Range => ({
  min: cap(left.min + right.min),
  max: cap(left.max + right.max),
})

export const times = (left: Range, right: Range): Range => ({
  min: cap(left.min * right.min),
  max: cap(left.max * right.max),
})

/** Rounded up, as costs are. */
export const scale = ({ min, max }: Range, factor: number): Range => ({
  min: cap(Math.ceil(min * factor)),
  max: cap(Math.ceil(max * factor)),
})

export const union = (left: Range, right: Range): Range => ({
  min: Math.min(left.min, right.min),
  max: Math.max(left.max, right.max),
})
