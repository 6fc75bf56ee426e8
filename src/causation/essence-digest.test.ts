import { describe, expect, test } from 'vitest'
import { parseJsonText } from '../util/json/json-text.ts'
import { parseObject } from '../util/json/lazy-json.ts'
import type { Essence } from './cause.ts'
import { digestEssence, isDigestEssence, prepareDigest, toDigestEssence } from './essence.ts'

const essence = { spec: { a: 1, b: [{ x: 1, y: 2 }] }, metadata: { labels: { l: 'v' } } }

describe('digestEssence', () => {
  test('the digest of an essence is stable across processes, since it is stored on objects', () => {
    expect(digestEssence(essence)).toBe('7E79w__id8y1HEzoWiAlqU')
  })

  test.each<[string, Essence, boolean]>([
    ['another order of keys', { metadata: { labels: { l: 'v' } }, spec: { b: [{ y: 2, x: 1 }], a: 1 } }, true],
    ['an added field with null', { ...essence, n: null }, true],
    ['an added null in a list', { ...essence, spec: { a: 1, b: [{ x: 1, y: 2, z: null }] } }, false],
    ['a text instead of a number', { ...essence, spec: { ...essence.spec, a: '1' } }, false],
    ['an added empty object', { ...essence, data: {} }, false],
  ])('the digest of an essence reflects real changes only: %s', (_, other, isSame) => {
    expect(digestEssence(other) === digestEssence(essence)).toBe(isSame)
  })

  test('the digest of an essence accepts any depth and any length', () => {
    const deep = parseJsonText(`${'{"a":['.repeat(50_000)}1${']}'.repeat(50_000)}`) as Essence
    const long = { list: Array.from({ length: 300_000 }, () => 1) }
    expect(digestEssence(deep)).not.toBe(digestEssence(long))
  })
})

describe('digests of large essences', () => {
  const plain = {
    spec: { list: Array.from({ length: 5000 }, (_, b) => ({ b, a: null })) },
    metadata: { labels: { l: '1' } },
  }
  const { spec } = parseObject(JSON.stringify(plain)) as typeof plain

  test('the digest of a large essence equals that of an equal essence, whether it was precomputed or not', async () => {
    const large = { ...plain, spec }
    await prepareDigest(large)
    expect(digestEssence(large)).toBe(digestEssence(plain))
    expect(digestEssence({ ...plain, spec })).toBe(digestEssence(plain))
  })

  test('the digest of a large essence changes with any field beside the large value', () => {
    const labels = { l: '2' }
    expect(digestEssence({ spec, metadata: { labels } })).toBe(digestEssence({ ...plain, metadata: { labels } }))
    expect(digestEssence({ other: spec, metadata: plain.metadata })).not.toBe(digestEssence(plain))
    expect(digestEssence({ ...plain, spec })).toBe(digestEssence(plain))
  })
})

test('a digest is distinguished from an essence', () => {
  expect(isDigestEssence(toDigestEssence(essence))).toBe(true)
  expect(isDigestEssence(essence)).toBe(false)
  expect(isDigestEssence({ 'kopf.dev/digest': 'x', spec: {} })).toBe(false)
})
