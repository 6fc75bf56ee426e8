/** The growth test kit: it must fail on quadratic work, otherwise growth tests prove nothing. */
import { describe, expect, it } from 'vitest'
import { expectLinearGrowth, nest, widen } from './support/growth.ts'

const indices = (n: number) => Array.from({ length: n }, (_, index) => index)

describe('expectLinearGrowth', () => {
  it('expectLinearGrowth accepts work whose counted steps are linear in the input', async () => {
    await expectLinearGrowth({ n: 10, prepare: indices, run: (list) => list.length * 3 })
  })

  it('expectLinearGrowth fails on work whose counted steps are quadratic in the input', async () => {
    const quadratic = expectLinearGrowth({ n: 10, prepare: indices, run: (list) => list.length ** 2 })
    await expect(quadratic).rejects.toThrow('grows faster than linearly: 100.0, 400.0, 1600.0 at 10, 20, 40')
  })

  it('expectLinearGrowth fails on work whose CPU time is quadratic in the input', async () => {
    let missing = 0
    // The search is native code, which costs the same before and after the compiler has optimized the loop.
    const run = (list: number[]) => {
      for (const index of list) if (!list.includes(-1 - index)) missing += 1
    }
    await expect(expectLinearGrowth({ n: 3000, prepare: indices, run })).rejects.toThrow('grows faster than linearly')
    expect(missing).toBeGreaterThan(0)
  })

  it('expectLinearGrowth accepts work whose CPU time is linear in the input', async () => {
    await expectLinearGrowth({ n: 20_000, prepare: indices, run: (list) => void JSON.stringify(list) })
  })

  it('nest makes deep objects, and widen makes wide objects', () => {
    expect(JSON.stringify(nest(3, 1))).toBe('{"a":{"a":{"a":1}}}')
    expect(widen(2, { keyLength: 4, value: 1 })).toEqual({ k0__: 1, k1__: 1 })
  })
})
