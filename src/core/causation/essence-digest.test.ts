import { describe, expect, test } from 'vitest'
import { parseJsonText } from '../../util/json-text.ts'
import { parseObject } from '../../util/lazy-json.ts'
import type { Essence } from './causes.ts'
import { digestEssence, isDigestEssence, prepareDigest, toDigestEssence } from './essence-digest.ts'

const essence = { spec: { a: 1, b: [{ x: 1, y: 2 }] }, metadata: { labels: { l: 'v' } } }

describe('digestEssence', () => {
  test('is the same in every process: it is stored on objects', () => {
    expect(digestEssence(essence)).toBe('7E79w__id8y1HEzoWiAlqU')
  })

  test.each<[string, Essence, boolean]>([
    ['the order of keys', { metadata: { labels: { l: 'v' } }, spec: { b: [{ y: 2, x: 1 }], a: 1 } }, true],
    ['a field with null', { ...essence, n: null }, true],
    ['a null in a list', { ...essence, spec: { a: 1, b: [{ x: 1, y: 2, z: null }] } }, false],
    ['a number or its text', { ...essence, spec: { ...essence.spec, a: '1' } }, false],
    ['an empty object', { ...essence, data: {} }, false],
  ])('of the same but for %s', (_, other, isSame) => {
    expect(digestEssence(other) === digestEssence(essence)).toBe(isSame)
  })

  test('takes any depth and any length', () => {
    const deep = parseJsonText(`${'{"a":['.repeat(50_000)}1${']}'.repeat(50_000)}`) as Essence
    const long = { list: Array.from({ length: 300_000 }, () => 1) }
    expect(digestEssence(deep)).not.toBe(digestEssence(long))
  })
})

describe('the digest of a large essence', () => {
  const plain = {
    spec: { list: Array.from({ length: 5000 }, (_, b) => ({ b, a: null })) },
    metadata: { labels: { l: '1' } },
  }
  const { spec } = parseObject(JSON.stringify(plain)) as typeof plain

  test('is that of an equal one, whether it was worked out ahead or not', async () => {
    const large = { ...plain, spec }
    await prepareDigest(large)
    expect(digestEssence(large)).toBe(digestEssence(plain))
    expect(digestEssence({ ...plain, spec })).toBe(digestEssence(plain))
  })

  test('is another one where anything beside the large value differs', () => {
    const labels = { l: '2' }
    expect(digestEssence({ spec, metadata: { labels } })).toBe(digestEssence({ ...plain, metadata: { labels } }))
    expect(digestEssence({ other: spec, metadata: plain.metadata })).not.toBe(digestEssence(plain))
    expect(digestEssence({ ...plain, spec })).toBe(digestEssence(plain))
  })
})

test('a digest is told from an essence', () => {
  expect(isDigestEssence(toDigestEssence(essence))).toBe(true)
  expect(isDigestEssence(essence)).toBe(false)
  expect(isDigestEssence({ 'kopf.dev/digest': 'x', spec: {} })).toBe(false)
})
