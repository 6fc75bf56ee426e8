import { describe, expect, test } from 'vitest'
import type { Essence } from './cause.ts'
import { concealSecret } from './conceal-secrets.ts'
import { diffEssences } from './diff.ts'
import { buildEssence } from './essence.ts'

const secret = (data: Record<string, string>, uid = 'u1'): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 's',
    uid,
    annotations: { kept: 'yes', 'kubectl.kubernetes.io/last-applied-configuration': 'aHVudGVyMg==' },
  },
  data,
  type: 'Opaque',
})

describe('essence of a Secret', () => {
  const body = secret({ password: 'aHVudGVyMg==', user: 'YWRtaW4=' })
  const essence = buildEssence(body)

  test('the essence of a Secret has the keys with digests instead of values', () => {
    expect(essence).toEqual({
      metadata: { annotations: { kept: 'yes' } },
      data: { password: expect.stringMatching(/^sha256:[0-9a-f]{16}$/), user: expect.stringMatching(/^sha256:/) },
      type: 'Opaque',
    })
  })

  test('the essence of a Secret differs per key', () => {
    const diff = diffEssences(essence, buildEssence(secret({ password: 'bmV3', user: 'YWRtaW4=' })))
    expect(diff.map(([operation, path]) => [operation, path])).toEqual([['change', ['data', 'password']]])
  })

  test('the essence of a Secret does not reveal that two Secrets have the same content', () => {
    expect(buildEssence(secret({ password: 'aHVudGVyMg==' }, 'u2'))['data']).not.toEqual(
      buildEssence(secret({ password: 'aHVudGVyMg==' }, 'u1'))['data'],
    )
  })

  test('the essence of a Secret has no content that extra fields would bring back', () => {
    const extraFields = ['metadata.annotations', 'metadata', 'data.password']
    expect(JSON.stringify(buildEssence(body, { extraFields }))).not.toContain('aHVudGVyMg')
  })

  test('the essence of a Secret equals a concealed essence that was stored in clear, and concealing is idempotent', () => {
    const clear = {
      metadata: { annotations: { kept: 'yes' } },
      data: { password: 'aHVudGVyMg==', user: 'YWRtaW4=' },
      type: 'Opaque',
    }
    expect(concealSecret(clear, body)).toEqual(essence)
    expect(concealSecret(essence, body)).toEqual(essence)
  })

  test('the essence of a Secret accepts malformed data', () => {
    for (const data of [null, 'text', ['x']]) {
      expect(concealSecret({ data } as Essence, body)).toEqual({ data })
    }
    expect(concealSecret({ data: { a: null } }, body)).toEqual({ data: { a: null } })
    const hostile = JSON.parse('{"data":{"__proto__":"aHVudGVyMg=="}}') as Essence
    expect(JSON.stringify(concealSecret(hostile, body))).toMatch(/^\{"data":\{"__proto__":"sha256:[0-9a-f]{16}"\}\}$/)
  })
})

test.each([
  ['v1', 'ConfigMap'],
  ['example.com/v1', 'Secret'],
])('the essence of a %s %s has its data in clear', (apiVersion, kind) => {
  expect(buildEssence({ apiVersion, kind, data: { a: 'b' } })).toEqual({ data: { a: 'b' } })
})
