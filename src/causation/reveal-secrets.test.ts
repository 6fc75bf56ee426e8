import { describe, expect, test } from 'vitest'
import type { Diff, Essence } from './cause.ts'
import { concealSecret } from './conceal-secrets.ts'
import { ConcealedValue } from './concealed-value.ts'
import { diffEssences, isSame, reduceDiff } from './diff.ts'
import { buildEssence } from './essence.ts'
import { concealDiff, revealSecret } from './reveal-secrets.ts'

const secret = (data: Record<string, unknown> | undefined, labels = {}): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', uid: 'u1', labels },
  ...(data && { data }),
  type: 'Opaque',
})

const before = secret({ password: 'b2xk', user: 'YWRtaW4=', gone: 'Z29uZQ==' }, { tier: 'one' })
const after = secret({ password: 'bmV3', user: 'YWRtaW4=', added: 'YWRk' }, { tier: 'two' })

function compare(from: object | undefined, to: object) {
  const [old, current] = [from && buildEssence(from), buildEssence(to)]
  return { old, new: current, diff: diffEssences(old, current) }
}

/** Replaces a concealed value with its clear text if it has the expected content. */
function open(value: unknown, clear: string): unknown {
  return value instanceof ConcealedValue && value.matches(clear) ? `concealed ${clear}` : value
}

describe('Secrets in handler arguments', () => {
  const revealed = revealSecret(compare(before, after), { body: after })

  test('handlers get the real values of a Secret in the new state', () => {
    expect(revealed.new).toEqual({
      metadata: { labels: { tier: 'two' } },
      data: { password: 'bmV3', user: 'YWRtaW4=', added: 'YWRk' },
      type: 'Opaque',
    })
  })

  test('handlers get concealed values of a Secret in the old state, and everything else unchanged', () => {
    const { data, ...rest } = revealed.old as { readonly [key: string]: Essence }
    expect(rest).toEqual({ metadata: { labels: { tier: 'one' } }, type: 'Opaque' })
    expect(Object.keys(data!)).toEqual(['password', 'user', 'gone'])
    expect(open(data!['password'], 'b2xk')).toBe('concealed b2xk')
    expect(open(data!['user'], 'YWRtaW4=')).toBe('concealed YWRtaW4=')
    expect(JSON.stringify(revealed.old)).not.toMatch(/sha256|b2xk/)
  })

  test('handlers get a diff of a Secret with the changed keys only, concealed on the old side and real on the new side', () => {
    const items = revealed.diff.map(([operation, path, old, current]) => [
      operation,
      path.join('.'),
      open(open(old, 'b2xk'), 'Z29uZQ=='),
      current,
    ])
    expect(items.sort()).toEqual(
      [
        ['add', 'data.added', undefined, 'YWRk'],
        ['remove', 'data.gone', 'concealed Z29uZQ==', undefined],
        ['change', 'metadata.labels.tier', 'one', 'two'],
        ['change', 'data.password', 'concealed b2xk', 'bmV3'],
      ].sort(),
    )
  })

  test('handlers get the same concealment for a whole Secret and for its whole data that appear or disappear', () => {
    const created = revealSecret(compare(undefined, after), { body: after })
    expect(created.diff).toEqual([['add', [], undefined, created.new]])
    expect((created.diff[0]![3] as Essence)['data']).toEqual({ password: 'bmV3', user: 'YWRtaW4=', added: 'YWRk' })
    const empty = secret(undefined, { tier: 'one' })
    const emptied = revealSecret(compare(before, empty), { body: empty })
    const [operation, path, old, current] = emptied.diff[0]!
    expect([operation, path, current]).toEqual(['remove', ['data'], undefined])
    expect(open((old as Essence)['password'], 'b2xk')).toBe('concealed b2xk')
    const [reduced] = reduceDiff(emptied.diff, ['data', 'password'])
    expect(reduced!.map((part) => open(part, 'b2xk'))).toEqual(['remove', [], 'concealed b2xk', undefined])
  })

  test('handlers get states of a Secret that compare as their digests do', () => {
    const [old, current] = [revealed.old?.['data'], revealed.new?.['data']] as [Essence, Essence]
    expect(isSame(old, current)).toBe(false)
    expect(isSame(old['password'], current['password'])).toBe(false)
    expect(isSame(old['user'], current['user'])).toBe(true)
    const same = revealSecret(compare(before, before), { body: before })
    expect(same.diff).toEqual([])
    expect(isSame(same.old, same.new)).toBe(true)
  })

  test('handlers get old values of a Secret in clear if they were stored in clear, and concealed otherwise', () => {
    const compared = compare(before, after)
    const clear = { data: { password: 'b2xk', user: 'YWRtaW4=', gone: 'Z29uZQ==' }, type: 'Opaque' }
    const stored: Essence = { ...clear, data: { ...clear.data, user: (compared.old!['data'] as Essence)['user']! } }
    const { old, diff } = revealSecret(compared, { body: after, stored })
    const data = old?.['data'] as Essence
    expect([data['password'], data['gone']]).toEqual(['b2xk', 'Z29uZQ=='])
    expect(data['user']).toBeInstanceOf(ConcealedValue)
    expect(diff).toContainEqual(['change', ['data', 'password'], 'b2xk', 'bmV3'])
    // The compared state differs from the stored one, for example a state that a handler has seen in between.
    const other = compare(secret({ password: 'c2Vlbg==' }), after)
    const seen = revealSecret(other, { body: after, stored }).old?.['data'] as Essence
    expect(open(seen['password'], 'c2Vlbg==')).toBe('concealed c2Vlbg==')
  })

  test('handlers get null and malformed data of a Secret unchanged, and `__proto__` as a plain key', () => {
    const strange = JSON.parse('{"data":{"a":null,"__proto__":"b2xk"}}') as Essence
    const { old } = revealSecret({ old: concealSecret(strange, after) }, { body: after })
    expect(old).toHaveProperty('data.a', null)
    expect(Object.keys(old?.['data'] as object)).toEqual(['a', '__proto__'])
    for (const data of [null, 'text', ['x']]) {
      expect(revealSecret({ old: { data } as Essence }, { body: after }).old).toEqual({ data })
    }
  })
})

test('the printed diff of a Secret has no values on either side', () => {
  const diff = concealDiff(compare(before, after).diff, after)
  const text = JSON.stringify(diff)
  expect(text).toContain('["change",["data","password"],"[concealed]","[concealed]"]')
  expect(text).not.toMatch(/sha256|b2xk|bmV3/)
})

test.each([
  ['v1', 'ConfigMap'],
  ['example.com/v1', 'Secret'],
])('a %s %s is not concealed', (apiVersion, kind) => {
  const body = { apiVersion, kind, metadata: {}, data: { a: 'b' } }
  const compared = { old: { data: { a: 'x' } }, new: { data: { a: 'b' } }, diff: [] as Diff }
  expect(revealSecret(compared, { body })).toBe(compared)
  expect(concealDiff(compared.diff, body)).toBe(compared.diff)
})
