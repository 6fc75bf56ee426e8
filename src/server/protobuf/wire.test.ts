import { describe, expect, test } from 'vitest'
import { WireReader } from './wire.ts'

const reader = (...bytes: number[]): WireReader => new WireReader(Uint8Array.from(bytes))
const ones = (count: number): number[] => Array.from({ length: count }, () => 0xff)

describe('numbers', () => {
  test.each([
    ['zero', [0x00], 0],
    ['the last of one byte', [0x7f], 127],
    ['the first of two bytes', [0x80, 0x01], 128],
    ['one that has bits in both halves', [0x80, 0x80, 0x80, 0x80, 0x10], 2 ** 32],
    ['the largest that is exact', [...ones(7), 0x0f], 2 ** 53 - 1],
    ['the largest of all', [...ones(8), 0x7f], 2 ** 63],
    ['minus one', [...ones(9), 0x01], -1],
    ['the smallest of all', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01], -(2 ** 63)],
    ['one written longer than it needs', [0x81, 0x80, 0x00], 1],
  ])('reads %s', (_, bytes, expected) => {
    expect(reader(...bytes).int64()).toBe(expected)
  })

  test('cuts 32 bits out of what is wider', () => {
    const wide = [0xff, 0xff, 0xff, 0xff, 0xff, 0x01]
    expect(reader(...wide).int32()).toBe(-1)
    expect(reader(...wide).uint32()).toBe(2 ** 32 - 1)
  })

  test('takes any bit for true', () => {
    expect(reader(0x80, 0x80, 0x80, 0x80, 0x80, 0x01).bool()).toBe(true)
    expect(reader(0x80, 0x00).bool()).toBe(false)
  })

  test('reads doubles with the lowest byte first', () => {
    expect(reader(0, 0, 0, 0, 0, 0, 0xf8, 0x3f).double()).toBe(1.5)
  })

  test.each([
    ['nothing', [], 'unexpected EOF'],
    ['a number that does not end', [0x80, 0x80], 'unexpected EOF'],
    ['a number of eleven bytes', [...ones(10), 0x01], 'proto: integer overflow'],
  ])('refuses %s', (_, bytes, message) => {
    expect(() => reader(...bytes).int64()).toThrow(message)
  })
})

describe('stretches', () => {
  test('are views of the bytes', () => {
    const bytes = Uint8Array.from([2, 7, 8, 9])
    const chunk = new WireReader(bytes).chunk()
    expect([...chunk]).toEqual([7, 8])
    expect(chunk.buffer).toBe(bytes.buffer)
  })

  test.each([
    ['a length beyond the end', [3, 1, 2], 'unexpected EOF'],
    ['a length of exabytes', [...ones(8), 0x7f], 'unexpected EOF'],
    ['a negative length', [...ones(9), 0x01], 'proto: negative length found during unmarshaling'],
  ])('refuses %s', (_, bytes, message) => {
    expect(() => reader(...bytes).chunk()).toThrow(message)
  })
})

describe('skipping', () => {
  test.each([
    ['a number', 0, [0x80, 0x01]],
    ['eight bytes', 1, [0, 0, 0, 0, 0, 0, 0, 0]],
    ['a stretch', 2, [2, 1, 1]],
    ['a group with a group in it', 3, [0x0b, 0x08, 0x01, 0x0c, 0x0c]],
    ['four bytes', 5, [0, 0, 0, 0]],
  ])('passes over %s', (_, wireType, bytes) => {
    const subject = reader(...bytes)
    subject.skip(wireType)
    expect(subject.isAtEnd).toBe(true)
  })

  test('passes over a million groups, one in the other', () => {
    const bytes = new Uint8Array(2_000_000).fill(0x0b, 0, 999_999).fill(0x0c, 999_999)
    const subject = new WireReader(bytes)
    subject.skip(3)
    expect(subject.isAtEnd).toBe(false)
  })

  test.each([
    ['a group that does not end', 3, [0x08, 0x01], 'unexpected EOF'],
    ['the end of a group that has not begun', 4, [], 'proto: unexpected end of group'],
    ['a type that there is not', 7, [0x01], 'proto: illegal wireType 7'],
    ['four bytes of which one is missing', 5, [0, 0, 0], 'unexpected EOF'],
  ])('refuses %s', (_, wireType, bytes, message) => {
    expect(() => reader(...bytes).skip(wireType)).toThrow(message)
  })
})

test('reads numbers as often as it takes to be optimized', () => {
  const bytes = new Uint8Array(1_000_000).fill(0x81)
  for (let index = 9; index < bytes.length; index += 10) bytes[index] = 0x01
  const subject = new WireReader(bytes)
  let count = 0
  for (; !subject.isAtEnd; count += 1) subject.int64()
  expect(count).toBe(100_000)
})
