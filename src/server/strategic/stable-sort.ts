/**
 * Go's `sort.SliceStable`, step by step: an inconsistent comparison gives the same result only with the same algorithm, and
 * kube-apiserver has such a comparison (order.ts). The number of comparisons grows as n·log²n, even then.
 */

type Less<T> = (one: T, other: T) => boolean

const blockSize = 20

/** Sorts in place. */
export function sortStable<T>(list: T[], less: Less<T>): void {
  for (let start = 0; start < list.length; start += blockSize) {
    insertionSort(list, less, start, Math.min(start + blockSize, list.length))
  }
  for (let size = blockSize; size < list.length; size *= 2) {
    for (let start = 0; start + size < list.length; start += 2 * size) {
      merge(list, less, start, start + size, Math.min(start + 2 * size, list.length))
    }
  }
}

function insertionSort<T>(list: T[], less: Less<T>, start: number, end: number): void {
  for (let next = start + 1; next < end; next += 1) {
    for (let at = next; at > start && less(list[at]!, list[at - 1]!); at -= 1) swap(list, at, at - 1)
  }
}

/** Merges two sorted neighbours in place (SymMerge). */
function merge<T>(list: T[], less: Less<T>, start: number, middle: number, end: number): void {
  if (middle - start === 1) insertFirst(list, less, start, middle, end)
  else if (end - middle === 1) insertLast(list, less, start, middle)
  else mergeHalves(list, less, start, middle, end)
}

function mergeHalves<T>(list: T[], less: Less<T>, start: number, middle: number, end: number): void {
  const half = (start + end) >>> 1
  const sum = half + middle
  let [low, high] = middle > half ? [sum - end, half] : [start, middle]
  while (low < high) {
    const probe = (low + high) >>> 1
    if (less(list[sum - 1 - probe]!, list[probe]!)) high = probe
    else low = probe + 1
  }
  const to = sum - low
  if (low < middle && middle < to) rotate(list, low, middle, to)
  if (start < low && low < half) merge(list, less, start, low, half)
  if (half < to && to < end) merge(list, less, half, to, end)
}

function insertFirst<T>(list: T[], less: Less<T>, start: number, middle: number, end: number): void {
  let [low, high] = [middle, end]
  while (low < high) {
    const probe = (low + high) >>> 1
    if (less(list[probe]!, list[start]!)) low = probe + 1
    else high = probe
  }
  for (let at = start; at < low - 1; at += 1) swap(list, at, at + 1)
}

function insertLast<T>(list: T[], less: Less<T>, start: number, middle: number): void {
  let [low, high] = [start, middle]
  while (low < high) {
    const probe = (low + high) >>> 1
    if (less(list[middle]!, list[probe]!)) high = probe
    else low = probe + 1
  }
  for (let at = middle; at > low; at -= 1) swap(list, at, at - 1)
}

/** Swaps the parts before and after the middle. */
function rotate<T>(list: T[], start: number, middle: number, end: number): void {
  const before = list.slice(start, middle)
  list.copyWithin(start, middle, end)
  for (const [index, value] of before.entries()) list[start + end - middle + index] = value
}

function swap<T>(list: T[], one: number, other: number): void {
  const value = list[one]!
  list[one] = list[other]!
  list[other] = value
}
