/**
 * Growth tests: run the same work at n, 2n and 4n and compare the costs. Linear work costs about 4 times as much at 4n as at
 * n, quadratic work 16 times. A test counts its work if it can (steps, bytes, requests); otherwise the CPU time of
 * this process is compared, with a margin for a busy machine.
 */
import { expect } from 'vitest'

export interface Growth<Input> {
  /** The smallest size. Choose it so that the work at 4n takes some milliseconds. */
  readonly n: number
  /** Makes the input of a size. Not measured. */
  readonly prepare: (n: number) => Input
  /** The work. Returns its count, or nothing: then CPU time is compared. */
  // biome-ignore lint/suspicious/noConfusingVoidType: work that counts nothing returns nothing.
  readonly run: (input: Input) => number | void | Promise<number | void>
  /** The highest ratio of the cost at 4n to that at n. 8 lies between linear (4) and quadratic (16). */
  readonly maxRatio?: number
}

/** CPU times below this are noise of the garbage collector and the compiler, and are rounded up to it. */
const minCpuMs = 4
const attempts = 3
const repetitions = 3

/** Fails if the work grows faster than linearly with the size of its input. */
export async function expectLinearGrowth<Input>(growth: Growth<Input>): Promise<void> {
  const { n, maxRatio = 8 } = growth
  let costs: number[] = []
  // The first run also pays for compiling the code, which would make the smallest size look more expensive.
  await costOf(growth, n)
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    costs = []
    for (const size of [n, 2 * n, 4 * n]) costs.push(await costOf(growth, size))
    if (costs[2]! <= maxRatio * costs[0]!) return
  }
  const figures = costs.map((cost) => cost.toFixed(1)).join(', ')
  expect.fail(`The cost grows faster than linearly: ${figures} at ${n}, ${2 * n}, ${4 * n}`)
}

/** The counted work, or the least CPU time of some repetitions in milliseconds. */
async function costOf<Input>({ prepare, run }: Growth<Input>, size: number): Promise<number> {
  let leastMs = Number.POSITIVE_INFINITY
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    const input = prepare(size)
    const before = process.cpuUsage()
    const counted = await run(input)
    const { user, system } = process.cpuUsage(before)
    if (typeof counted === 'number') return counted
    leastMs = Math.min(leastMs, (user + system) / 1000)
  }
  return Math.max(leastMs, minCpuMs)
}

/** `levels` objects, each the only value of the one around it; `value` is the innermost. */
export function nest(levels: number, value: unknown = 'end', key = 'a'): Record<string, unknown> {
  let nested: unknown = value
  for (let level = 0; level < levels; level += 1) nested = { [key]: nested }
  return nested as Record<string, unknown>
}

/** An object of `width` keys, each of `keyLength` characters at least. */
export function widen(
  width: number,
  { keyLength = 8, value = 'x' }: { readonly keyLength?: number; readonly value?: unknown } = {},
): Record<string, unknown> {
  const entries = Array.from({ length: width }, (_, index) => [`k${index}`.padEnd(keyLength, '_'), value] as const)
  return Object.fromEntries(entries)
}
