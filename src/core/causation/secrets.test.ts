import { describe, expect, test } from 'vitest'
import type { Essence } from './causes.ts'
import { diffEssences } from './diff.ts'
import { buildEssence } from './essence.ts'
import { concealSecret } from './secrets.ts'

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

describe('the essence of a Secret', () => {
  const body = secret({ password: 'aHVudGVyMg==', user: 'YWRtaW4=' })
  const essence = buildEssence(body)

  test('has the keys, and digests in the place of values', () => {
    expect(essence).toEqual({
      metadata: { annotations: { kept: 'yes' } },
      data: { password: expect.stringMatching(/^sha256:[0-9a-f]{16}$/), user: expect.stringMatching(/^sha256:/) },
      type: 'Opaque',
    })
  })

  test('differs by key', () => {
    const diff = diffEssences(essence, buildEssence(secret({ password: 'bmV3', user: 'YWRtaW4=' })))
    expect(diff.map(([operation, path]) => [operation, path])).toEqual([['change', ['data', 'password']]])
  })

  test('does not give away that two Secrets have the same content', () => {
    expect(buildEssence(secret({ password: 'aHVudGVyMg==' }, 'u2'))['data']).not.toEqual(
      buildEssence(secret({ password: 'aHVudGVyMg==' }, 'u1'))['data'],
    )
  })

  test('has no record of its content that a field of a handler would bring back', () => {
    const extraFields = ['metadata.annotations', 'metadata', 'data.password']
    expect(JSON.stringify(buildEssence(body, { extraFields }))).not.toContain('aHVudGVyMg')
  })

  test('equals the one that was stored in clear, and concealing twice is concealing once', () => {
    const clear = {
      metadata: { annotations: { kept: 'yes' } },
      data: { password: 'aHVudGVyMg==', user: 'YWRtaW4=' },
      type: 'Opaque',
    }
    expect(concealSecret(clear, body)).toEqual(essence)
    expect(concealSecret(essence, body)).toEqual(essence)
  })

  test('takes what is no data', () => {
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
])('the data of a %s %s is no secret', (apiVersion, kind) => {
  expect(buildEssence({ apiVersion, kind, data: { a: 'b' } })).toEqual({ data: { a: 'b' } })
})
