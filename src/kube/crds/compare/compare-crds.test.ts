import { describe, expect, test } from 'vitest'
import { expectLinearGrowth } from '../../../../test/support/growth.ts'
import type { KubeObject } from '../../objects.ts'
import { compareCrds } from './compare-crds.ts'

type Fields = Record<string, unknown>

const crdOf = (spec: Fields, status: Fields = {}) =>
  ({ metadata: { name: 'x' }, spec, status }) as unknown as KubeObject

/** A CRD with one version, whose schema has these properties. */
function withSchema(schema: Fields, version: Fields = {}): KubeObject {
  return crdOf({
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version }],
  })
}

const withField = (field: Fields) => withSchema({ type: 'object', properties: { spec: field } })

/** One line per difference: severity, version, path, property, and the change. */
function differences(before: KubeObject, after: KubeObject): string[] {
  return compareCrds(before, after).map(({ severity, version, path, property, change }) =>
    [severity, version, path, property, change].filter((part) => part !== undefined && part !== '').join(' '),
  )
}

const text = { type: 'string' }
const number = { type: 'integer' }
const list = { type: 'array', items: text }
const objectOf = (properties: Fields, more: Fields = {}) => ({ type: 'object', properties, ...more })

describe('differences of a field', () => {
  test.each<[string, Fields, Fields, string[]]>([
    ['nothing', { ...number, minimum: 1 }, { minimum: 1, ...number }, []],
    ['the type', text, number, ['breaking v1 spec type']],
    ['integer to number', number, { type: 'number' }, ['compatible v1 spec type']],
    ['number to integer', { type: 'number' }, number, ['breaking v1 spec type']],
    ['string to int-or-string', text, { 'x-kubernetes-int-or-string': true }, ['compatible v1 spec type']],
    ['int-or-string to string', { 'x-kubernetes-int-or-string': true }, text, ['breaking v1 spec type']],
    ['a type where there was none', { 'x-kubernetes-preserve-unknown-fields': true }, text, ['breaking v1 spec type']],
    ['a new maximum', number, { ...number, maximum: 5 }, ['breaking v1 spec maximum']],
    ['a lower maximum', { ...number, maximum: 9 }, { ...number, maximum: 5 }, ['breaking v1 spec maximum']],
    ['a higher maximum', { ...number, maximum: 5 }, { ...number, maximum: 9 }, ['compatible v1 spec maximum']],
    ['no maximum any more', { ...number, maximum: 5 }, number, ['compatible v1 spec maximum']],
    ['a higher minimum', { ...number, minimum: 1 }, { ...number, minimum: 2 }, ['breaking v1 spec minimum']],
    ['a new minimum of 0', number, { ...number, minimum: 0 }, ['breaking v1 spec minimum']],
    ['a lower minimum', { ...number, minimum: 2 }, { ...number, minimum: 1 }, ['compatible v1 spec minimum']],
    [
      'an exclusive maximum',
      { ...number, maximum: 5 },
      { ...number, maximum: 5, exclusiveMaximum: true },
      ['breaking v1 spec exclusiveMaximum'],
    ],
    ['a new multipleOf', number, { ...number, multipleOf: 2 }, ['breaking v1 spec multipleOf']],
    [
      'a multipleOf that divides the old one',
      { ...number, multipleOf: 6 },
      { ...number, multipleOf: 3 },
      ['compatible v1 spec multipleOf'],
    ],
    ['a shorter maxLength', { ...text, maxLength: 9 }, { ...text, maxLength: 5 }, ['breaking v1 spec maxLength']],
    ['a new minLength of 0', text, { ...text, minLength: 0 }, ['compatible v1 spec minLength']],
    ['a new minLength', text, { ...text, minLength: 1 }, ['breaking v1 spec minLength']],
    ['a shorter maxItems', list, { ...list, maxItems: 5 }, ['breaking v1 spec maxItems']],
    ['a higher minItems', { ...list, minItems: 1 }, { ...list, minItems: 2 }, ['breaking v1 spec minItems']],
    ['fewer properties', objectOf({}), objectOf({}, { maxProperties: 2 }), ['breaking v1 spec maxProperties']],
    ['more properties', objectOf({}), objectOf({}, { minProperties: 2 }), ['breaking v1 spec minProperties']],
    ['a new pattern', text, { ...text, pattern: 'a' }, ['breaking v1 spec pattern']],
    ['another pattern', { ...text, pattern: 'a' }, { ...text, pattern: 'b' }, ['breaking v1 spec pattern']],
    ['no pattern any more', { ...text, pattern: 'a' }, text, ['compatible v1 spec pattern']],
    ['a new format', text, { ...text, format: 'email' }, ['breaking v1 spec format']],
    ['a removed enum value', { ...text, enum: ['a', 'b'] }, { ...text, enum: ['a'] }, ['breaking v1 spec enum']],
    ['an added enum value', { ...text, enum: ['a'] }, { ...text, enum: ['b', 'a'] }, ['compatible v1 spec enum']],
    ['the order of an enum', { ...text, enum: ['a', 'b'] }, { ...text, enum: ['b', 'a'] }, []],
    ['an enum on a free string', text, { ...text, enum: ['a'] }, ['breaking v1 spec enum']],
    ['no enum any more', { ...text, enum: ['a'] }, text, ['compatible v1 spec enum']],
    ['nullable removed', { ...text, nullable: true }, text, ['breaking v1 spec nullable']],
    ['nullable added', text, { ...text, nullable: true }, ['compatible v1 spec nullable']],
    ['nullable written out as false', text, { ...text, nullable: false }, []],
    ['another default', { ...text, default: 'a' }, { ...text, default: 'b' }, ['breaking v1 spec default']],
    ['no default any more', { ...text, default: 'a' }, text, ['breaking v1 spec default']],
    ['a default for an existing field', text, { ...text, default: 'a' }, ['breaking v1 spec default']],
    ['another description', text, { ...text, description: 'A text.' }, ['compatible v1 spec description']],
    ['a new not', text, { ...text, not: { enum: ['a'] } }, ['breaking v1 spec not']],
    ['no anyOf any more', { ...text, anyOf: [{ pattern: 'a' }] }, text, ['compatible v1 spec anyOf']],
    ['an unknown keyword', text, { ...text, 'x-new': 1 }, ['breaking v1 spec x-new']],
    ['items of another type', list, { type: 'array', items: number }, ['breaking v1 spec[*] type']],
    ['a list type', list, { ...list, 'x-kubernetes-list-type': 'set' }, ['breaking v1 spec x-kubernetes-list-type']],
    [
      'the default list type',
      list,
      { ...list, 'x-kubernetes-list-type': 'atomic' },
      ['compatible v1 spec x-kubernetes-list-type'],
    ],
    [
      'other map keys',
      { ...list, 'x-kubernetes-list-map-keys': ['a'] },
      { ...list, 'x-kubernetes-list-map-keys': ['b'] },
      ['breaking v1 spec x-kubernetes-list-map-keys'],
    ],
    [
      'an atomic map',
      objectOf({}),
      objectOf({}, { 'x-kubernetes-map-type': 'atomic' }),
      ['breaking v1 spec x-kubernetes-map-type'],
    ],
    [
      'a new rule',
      text,
      { ...text, 'x-kubernetes-validations': [{ rule: 'a' }] },
      ['breaking v1 spec x-kubernetes-validations'],
    ],
    [
      'no rule any more',
      { ...text, 'x-kubernetes-validations': [{ rule: 'a' }] },
      text,
      ['compatible v1 spec x-kubernetes-validations'],
    ],
    [
      'another message of a rule',
      { ...text, 'x-kubernetes-validations': [{ rule: 'a', message: 'x' }] },
      { ...text, 'x-kubernetes-validations': [{ rule: 'a', message: 'y' }] },
      ['compatible v1 spec x-kubernetes-validations'],
    ],
  ])('compareCrds judges a change of a field: %s', (_, before, after, expected) => {
    expect(differences(withField(before), withField(after))).toEqual(expected)
  })
})

describe('differences of the fields of an object', () => {
  const a = objectOf({ a: text })
  const ab = objectOf({ a: text, b: text })
  const open = { 'x-kubernetes-preserve-unknown-fields': true }
  const mapOf = (values: unknown) => ({ type: 'object', additionalProperties: values })

  test.each<[string, Fields, Fields, string[]]>([
    ['a removed field', ab, a, ['breaking v1 spec.b field removed']],
    ['an added field', a, ab, ['compatible v1 spec.b field added']],
    [
      'a removed field of an open object',
      { ...ab, ...open },
      { ...a, ...open },
      ['compatible v1 spec.b field removed'],
    ],
    ['an added field of an open object', { ...a, ...open }, { ...ab, ...open }, ['breaking v1 spec.b field added']],
    [
      'an object that is no longer open',
      { ...a, ...open },
      a,
      ['breaking v1 spec x-kubernetes-preserve-unknown-fields'],
    ],
    ['an object that becomes open', a, { ...a, ...open }, ['compatible v1 spec x-kubernetes-preserve-unknown-fields']],
    ['a required field', a, { ...a, required: ['a'] }, ['breaking v1 spec.a required']],
    [
      'a new required field',
      a,
      { ...ab, required: ['b'] },
      ['breaking v1 spec.b required', 'compatible v1 spec.b field added'],
    ],
    [
      'a new required field with a default',
      a,
      objectOf({ a: text, b: { ...text, default: 'x' } }, { required: ['b'] }),
      ['compatible v1 spec.b required', 'compatible v1 spec.b field added'],
    ],
    [
      'an existing field that is required now, and gets a default',
      a,
      objectOf({ a: { ...text, default: 'x' } }, { required: ['a'] }),
      ['compatible v1 spec.a required', 'compatible v1 spec.a default'],
    ],
    ['an optional field', { ...a, required: ['a'] }, a, ['compatible v1 spec.a required']],
    ['a removed required field', { ...ab, required: ['b'] }, a, ['breaking v1 spec.b field removed']],
    ['the order of fields', ab, objectOf({ b: text, a: text }), []],
    ['other values of a map', mapOf(text), mapOf(number), ['breaking v1 spec[*] type']],
    [
      'a map of any values that is restricted',
      mapOf(true),
      mapOf(text),
      ['breaking v1 spec additionalProperties added'],
    ],
    ['a map of any values', mapOf(text), mapOf(true), ['compatible v1 spec additionalProperties added']],
    ['no map any more', mapOf(text), { type: 'object' }, ['breaking v1 spec additionalProperties removed']],
    ['a map of fields that existed', a, mapOf(text), ['compatible v1 spec additionalProperties added']],
    [
      'fields instead of a map',
      mapOf(text),
      objectOf({ a: number }),
      ['breaking v1 spec additionalProperties removed', 'breaking v1 spec.a type'],
    ],
    [
      'a field of items',
      { type: 'array', items: ab },
      { type: 'array', items: a },
      ['breaking v1 spec[*].b field removed'],
    ],
    ['a name with a dot', objectOf({ 'a.b': text }), objectOf({}), ['breaking v1 spec."a.b" field removed']],
    [
      'the name __proto__',
      objectOf(JSON.parse('{"__proto__":{"type":"string"}}')),
      objectOf({}),
      ['breaking v1 spec.__proto__ field removed'],
    ],
  ])('compareCrds judges a change of the fields of an object: %s', (_, before, after, expected) => {
    expect(differences(withField(before), withField(after)).toSorted()).toEqual(expected.toSorted())
  })

  test('the fields that every object has can be left out of the schema', () => {
    const before = withSchema(objectOf({ apiVersion: text, kind: text, metadata: { type: 'object' } }))
    const found = differences(before, withSchema(objectOf({})))
    expect(found).toEqual(['apiVersion', 'kind', 'metadata'].map((name) => `compatible v1 ${name} schema removed`))
  })
})

describe('differences of versions', () => {
  const version = (name: string, more: Fields = {}) => ({ name, served: true, storage: false, ...more })
  const columns = [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }]
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }

  test.each<[string, Fields[], Fields[], string[]]>([
    ['a removed version', [version('v1'), version('v2')], [version('v2')], ['breaking v1 version removed']],
    [
      'a removed version that was not served',
      [version('v1', { served: false }), version('v2')],
      [version('v2')],
      ['compatible v1 version removed'],
    ],
    ['an added version', [version('v1')], [version('v2'), version('v1')], ['compatible v2 version added']],
    ['a version that is no longer served', [version('v1')], [version('v1', { served: false })], ['breaking v1 served']],
    ['a version that is served again', [version('v1', { served: false })], [version('v1')], ['compatible v1 served']],
    ['another storage version', [version('v1', { storage: true })], [version('v1')], ['compatible v1 storage']],
    [
      'a deprecated version',
      [version('v1')],
      [version('v1', { deprecated: true, deprecationWarning: 'x' })],
      ['compatible v1 deprecated', 'compatible v1 deprecationWarning'],
    ],
    [
      'columns',
      [version('v1')],
      [version('v1', { additionalPrinterColumns: columns })],
      ['compatible v1 additionalPrinterColumns'],
    ],
    [
      'no status subresource',
      [version('v1', { subresources: { status: {} } })],
      [version('v1')],
      ['breaking v1 subresources.status subresource removed'],
    ],
    [
      'a new status subresource',
      [version('v1')],
      [version('v1', { subresources: { status: {} } })],
      ['breaking v1 subresources.status subresource added'],
    ],
    [
      'no scale subresource',
      [version('v1', { subresources: { scale } })],
      [version('v1', { subresources: {} })],
      ['breaking v1 subresources.scale subresource removed'],
    ],
    [
      'a new scale subresource',
      [version('v1')],
      [version('v1', { subresources: { scale } })],
      ['compatible v1 subresources.scale subresource added'],
    ],
    [
      'another path of the scale subresource',
      [version('v1', { subresources: { scale } })],
      [version('v1', { subresources: { scale: { ...scale, labelSelectorPath: '.status.x' } } })],
      ['breaking v1 subresources.scale'],
    ],
    [
      'a selectable field less',
      [version('v1', { selectableFields: [{ jsonPath: '.spec.a' }] })],
      [version('v1')],
      ['breaking v1 .spec.a selectable field removed'],
    ],
    [
      'a selectable field more',
      [version('v1')],
      [version('v1', { selectableFields: [{ jsonPath: '.spec.a' }] })],
      ['compatible v1 .spec.a selectable field added'],
    ],
    ['an unknown field', [version('v1')], [version('v1', { unheardOf: 1 })], ['breaking v1 unheardOf']],
  ])('compareCrds judges a change of a version: %s', (_, before, after, expected) => {
    expect(differences(crdOf({ versions: before }), crdOf({ versions: after }))).toEqual(expected)
  })

  test('a removed version in which objects may be stored is breaking even if it is not served, and the reason names the remedy', () => {
    const before = crdOf(
      { versions: [version('v1', { served: false }), version('v2')] },
      { storedVersions: ['v1', 'v2'] },
    )
    const [found] = compareCrds(before, crdOf({ versions: [version('v2')] }))
    expect(found).toMatchObject({
      severity: 'breaking',
      version: 'v1',
      reason: expect.stringContaining('kopf crd migrate'),
    })
  })

  test('each version is compared with the version of the same name', () => {
    const one = (name: string, schema: Fields) => ({
      ...version(name),
      schema: { openAPIV3Schema: objectOf({ a: schema }) },
    })
    const found = differences(
      crdOf({ versions: [one('v1', text), one('v2', number)] }),
      crdOf({ versions: [one('v2', text), one('v1', text)] }),
    )
    expect(found).toEqual(['breaking v2 a type'])
  })
})

describe('differences of the whole CRD', () => {
  const names = { plural: 'things', kind: 'Thing' }
  const spec = { group: 'example.com', scope: 'Namespaced', names }

  test.each<[string, Fields, string[]]>([
    ['the scope', { ...spec, scope: 'Cluster' }, ['breaking spec.scope']],
    ['the group', { ...spec, group: 'other.com' }, ['breaking spec.group']],
    ['the plural', { ...spec, names: { ...names, plural: 'stuff' } }, ['breaking spec.names.plural']],
    [
      'the kind',
      { ...spec, names: { ...names, kind: 'Stuff', singular: 'thing', listKind: 'ThingList' } },
      ['breaking spec.names.kind'],
    ],
    [
      'the names that the API server adds',
      { ...spec, names: { ...names, singular: 'thing', listKind: 'ThingList', shortNames: [] } },
      [],
    ],
    ['a short name', { ...spec, names: { ...names, shortNames: ['th'] } }, ['compatible spec.names.shortNames']],
    ['the conversion', { ...spec, conversion: { strategy: 'Webhook' } }, []],
    ['preserveUnknownFields: false', { ...spec, preserveUnknownFields: false }, []],
    ['an unknown field', { ...spec, unheardOf: 1 }, ['breaking spec.unheardOf']],
  ])('compareCrds judges a change of the whole CRD: %s', (_, after, expected) => {
    expect(differences(crdOf(spec), crdOf(after))).toEqual(expected)
  })
})

describe('large and malformed CRDs', () => {
  const deep = (levels: number, end: Fields) => {
    let schema: Fields = end
    for (let level = 0; level < levels; level += 1) schema = objectOf({ a: schema }, { description: `${end['type']}` })
    return withSchema(schema)
  }

  test('a schema of 20,000 levels with a difference on each level is compared, and its paths are cut', () => {
    const found = compareCrds(deep(20_000, text), deep(20_000, number))
    expect(found).toHaveLength(20_001)
    expect(Math.max(...found.map(({ path }) => path.length))).toBeLessThan(320)
  })

  test('the comparison costs linear time in the depth and in the width of a schema', async () => {
    await expectLinearGrowth({
      n: 1000,
      prepare: (n) => [deep(n, text), deep(n, number)] as const,
      run: ([before, after]) => void compareCrds(before, after),
    })
    const wide = (n: number, field: Fields, prefix: string) => {
      const fields = Array.from({ length: n }, (_, index) => [`${prefix}${index}`, field] as const)
      return withField(objectOf(Object.fromEntries(fields), { required: fields.map(([name]) => name) }))
    }
    await expectLinearGrowth({
      n: 1000,
      prepare: (n) => [wide(n, text, 'a'), wide(n, number, 'b')] as const,
      run: ([before, after]) => void compareCrds(before, after),
    })
  })

  test.each([
    ['no spec', undefined],
    ['versions that are no list', { versions: 'v1' }],
    ['a version without a schema', { versions: [{ name: 'v1' }, null, 7] }],
    ['a schema that is no object', { versions: [{ name: 'v1', schema: { openAPIV3Schema: [] } }] }],
    [
      'fields of other types',
      {
        names: 7,
        versions: [
          {
            name: 'v1',
            schema: {
              openAPIV3Schema: { properties: { a: 7, b: null }, required: 5, enum: 7, 'x-kubernetes-validations': 'x' },
            },
          },
        ],
      },
    ],
  ])('a CRD with %s is compared without an error', (_, spec) => {
    const crd = { metadata: {}, spec } as unknown as KubeObject
    const good = withField(text)
    expect([compareCrds(crd, good), compareCrds(good, crd), compareCrds(crd, crd)].at(-1)).toEqual([])
  })
})
