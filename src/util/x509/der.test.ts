import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { element, integer, objectIdentifier, readElements, time, utf8String } from './der.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

describe('lengths', () => {
  test.each([
    [0, '0400'],
    [1, '0401'],
    [127, '047f'],
    [128, '048180'],
    [255, '0481ff'],
    [256, '04820100'],
    [65_535, '0482ffff'],
    [65_536, '0483010000'],
  ])('the length %i is written in as few bytes as possible', (length, head) => {
    const written = element(4, Buffer.alloc(length))
    expect(hex(written.subarray(0, written.length - length))).toBe(head)
  })

  test('elements of any length are read as they were written', () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 70_000 }), { maxLength: 5 })
    fc.assert(
      fc.property(lengths, (all) => {
        const read = readElements(Buffer.concat(all.map((length) => element(4, Buffer.alloc(length, 1)))))
        expect(read.map(({ tag, contents }) => [tag, contents.length])).toEqual(all.map((length) => [4, length]))
      }),
      { numRuns: 50 },
    )
  })
})

test.each([
  ['', '020100'],
  ['00', '020100'],
  ['7f', '02017f'],
  ['80', '02020080'],
  ['0080', '02020080'],
  ['00007f', '02017f'],
  ['ff00', '020300ff00'],
])('the integer %j is positive and has no unnecessary zeros', (bytes, written) => {
  expect(hex(integer(Buffer.from(bytes, 'hex')))).toBe(written)
})

test.each([
  ['2.5.29.17', '0603551d11'],
  ['1.2.840.10045.4.3.2', '06082a8648ce3d040302'],
  ['1.3.6.1.5.5.7.3.1', '06082b06010505070301'],
])('the object identifier %s is written in groups of 7 bits', (text, written) => {
  expect(hex(objectIdentifier(text))).toBe(written)
})

describe('times', () => {
  test.each([
    ['1950-01-01T00:00:00Z', 0x17, '500101000000Z'],
    ['2026-11-19T20:05:14.999Z', 0x17, '261119200514Z'],
    ['2049-12-31T23:59:59.999Z', 0x17, '491231235959Z'],
    ['2050-01-01T00:00:00Z', 0x18, '20500101000000Z'],
    ['1949-12-31T23:59:59Z', 0x18, '19491231235959Z'],
    ['0001-01-01T00:00:00Z', 0x18, '00010101000000Z'],
    ['9999-12-31T23:59:59.999Z', 0x18, '99991231235959Z'],
    ['+010000-01-01T00:00:00Z', 0x18, '99991231235959Z'],
  ])('the time %s is written in the form for its year', (text, tag, written) => {
    const [read] = readElements(time(Date.parse(text)))
    expect([read!.tag, read!.contents.toString()]).toEqual([tag, written])
  })

  test('a time without end is the last second that a certificate can have', () => {
    expect(readElements(time(Infinity))[0]!.contents.toString()).toBe('99991231235959Z')
  })

  test('times of all years are in the order of their moments', () => {
    const moments = fc.integer({ min: Date.UTC(1, 0), max: Date.UTC(9999, 11, 31) })
    const toDigits = (ms: number) => {
      const { tag, contents } = readElements(time(ms))[0]!
      const text = contents.toString()
      return tag === 0x18 ? text : `${Number(text.slice(0, 2)) < 50 ? 20 : 19}${text}`
    }
    fc.assert(
      fc.property(moments, moments, (one, other) => {
        const [early, late] = [Math.min(one, other), Math.max(one, other)]
        expect(toDigits(early) <= toDigits(late)).toBe(true)
        expect(toDigits(one)).toHaveLength(15)
      }),
    )
  })
})

test('text of any characters is read as it was written', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(readElements(utf8String(text))[0]!.contents.toString()).toBe(text)
    }),
  )
})

test.each([
  ['a missing length', '30'],
  ['a missing part of the length', '3082ff'],
  ['missing contents', '30050102'],
  ['missing contents after a complete element', '0101ff300501'],
  ['a length until an end mark', '3080'.padEnd(400, '0')],
  ['a length of more than four bytes', '30850000000001ff'],
])('DER with %s is refused', (_, bytes) => {
  expect(() => readElements(Buffer.from(bytes, 'hex'))).toThrow(/^Cannot read DER: /)
})
