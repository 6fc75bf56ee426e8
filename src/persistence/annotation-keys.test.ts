import { describe, expect, test } from 'vitest'
import { AnnotationKeys, makeV1Key, makeV2Key } from './annotation-keys.ts'

const kopf = 'kopf.zalando.org'
const mine = 'my-operator.example.com'
const plain = { kind: 'Database' }
const long = 'very_long_handler_name_to_exceed_the_limit_of_63_chars_for_annotations/spec.field.subfield'

describe('annotation keys of handlers', () => {
  test.each<[string, string, string[]]>([
    [kopf, 'create_fn', ['create_fn']],
    [kopf, 'create_fn/spec.field', ['create_fn.spec.field']],
    [kopf, 'fn.<locals>.inner', ['fn._locals_.inner']],
    [kopf, 'a'.repeat(46), ['a'.repeat(46)]],
    [kopf, 'a'.repeat(47), ['a'.repeat(47), `${'a'.repeat(39)}-L2I79Q`]],
    [kopf, 'a'.repeat(64), [`${'a'.repeat(56)}-5Keq3A`, `${'a'.repeat(39)}-5Keq3A`]],
    [kopf, 'x/'.repeat(40), [`${'x.'.repeat(28)}-f4wfgw`, `${'x.'.repeat(19)}x-DRcV3w`]],
    [
      kopf,
      long,
      [
        'very_long_handler_name_to_exceed_the_limit_of_63_chars_f-hW.a.w',
        'very_long_handler_name_to_exceed_the_li-yd1wNA',
      ],
    ],
    [mine, 'fn'.repeat(323), [`${'fn'.repeat(28)}-Az-r.g`, `${'fn'.repeat(16)}-Az-r.g`]],
  ])('the annotation keys with the prefix %s for the handler %s are those of Kopf', (prefix, key, names) => {
    const expected = names.map((name) => `${prefix}/${name}`)
    const keys = new AnnotationKeys({ prefix, v1: true })
    expect(keys.readable(key, plain)).toEqual(expected)
    expect(keys.writable(key, plain)).toEqual(expected)
    expect(new AnnotationKeys({ prefix, v1: false }).readable(key, plain)).toEqual(expected.slice(0, 1))
  })

  test.each([
    ['x', 'SItAqA', 'tEokcg'],
    ['y', '0d251g', 'VZlvhw'],
    ['z', 'E7wvIA', 'LlPQyA'],
  ])('the annotation keys of an id with many "%s" are hashed as in Kopf', (letter, v2, v1) => {
    expect(makeV2Key(mine, letter.repeat(64))).toBe(`${mine}/${letter.repeat(56)}-${v2}`)
    expect(makeV1Key(mine, letter.repeat(40))).toBe(`${mine}/${letter.repeat(32)}-${v1}`)
  })
})

describe('annotation keys of ReplicaSets', () => {
  const keys = new AnnotationKeys({ prefix: kopf, v1: true })
  const ownedBy = (owner: unknown): object => ({ kind: 'ReplicaSet', metadata: { ownerReferences: owner } })

  test('a ReplicaSet of a Deployment has annotation keys of its own, since it inherits annotations', () => {
    const body = ownedBy([{ kind: 'X' }, { kind: 'Deployment' }])
    expect(keys.readable('create_fn', body)).toEqual([`${kopf}/create_fn-ofDRS`])
    expect(keys.readable('create_fn', { ...body, kind: 'Database' })).toEqual([`${kopf}/create_fn`])
  })

  test.each([[[{ kind: 'X' }]], [undefined], ['text'], [[null, 5]]])(
    'a ReplicaSet with the owners %j has the usual annotation keys',
    (owner) => {
      expect(keys.readable('create_fn', ownedBy(owner))).toEqual([`${kopf}/create_fn`])
    },
  )
})

describe('annotation keys with a long prefix', () => {
  const key = 'last-handled-configuration'

  test('a V1 annotation key that the API would refuse is read, but not written', () => {
    const prefix = `${'p'.repeat(51)}.com`
    const keys = new AnnotationKeys({ prefix, v1: true })
    expect(keys.readable(key, plain)).toEqual([`${prefix}/${key}`, `${prefix}/-a.A3qw`])
    expect(keys.writable(key, plain)).toEqual([`${prefix}/${key}`])
  })

  test('a V1 annotation key is cut from the end if there is no room for it, as in Kopf', () => {
    const prefix = `${'p'.repeat(56)}.com`
    const keys = new AnnotationKeys({ prefix, v1: true })
    expect(keys.writable(key, plain)).toEqual([`${prefix}/${key}`, `${prefix}/last-handled-configur-a.A3qw`])
  })
})

test('an empty annotation prefix is refused', () => {
  expect(() => new AnnotationKeys({ prefix: '', v1: true })).toThrow('the prefix is empty')
})
