/** Validation errors of CRDs with their messages, and the defaults of accepted CRDs. */
import { describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { crd, crdsPath } from '../../../support/crds.ts'
import {
  type Cause,
  expectFailure,
  expectInvalid,
  expectStatus,
  timestamp,
  uuid,
  warningsOf,
} from '../../../support/expectations.ts'
import { dns1035Label, subdomain } from '../../../support/messages.ts'

const cluster = useCluster()

/** A loose type, because most CRDs of this file are invalid. */
type Definition = { metadata: Tree; spec: Tree & { names: Tree; versions: Tree[] }; [field: string]: unknown }

/** Sends a valid CRD with one change, as a dry run. */
function send(change: (definition: Definition) => void): Promise<Answer> {
  const definition = structuredClone(crd({ group: cluster.group, kind: 'Widget' })) as Definition
  change(definition)
  return cluster.api.post(crdsPath, definition, { query: { dryRun: 'All' } })
}

const version = (change: Tree) => (definition: Definition) => void Object.assign(definition.spec.versions[0]!, change)
const schema = (openAPIV3Schema: Tree) => version({ schema: { openAPIV3Schema } })
const property = (a: Tree) => schema({ type: 'object', properties: { a } })
const names = (change: Tree) => (definition: Definition) => void Object.assign(definition.spec.names, change)
const spec = (change: Tree) => (definition: Definition) => void Object.assign(definition.spec, change)

const root = 'spec.validation.openAPIV3Schema'
const a = `${root}.properties[a]`
const subject = (name = `widgets.${cluster.group}`) => ({
  kind: 'CustomResourceDefinition',
  group: 'apiextensions.k8s.io',
  name,
})

describe('invalid CRDs', () => {
  test.each<[string, (definition: Definition) => void, Cause[]]>([
    ['lack a scope', spec({ scope: undefined }), ['spec.scope: Required value']],
    [
      'have an unknown scope',
      spec({ scope: 'World' }),
      ['spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"'],
    ],
    [
      'lack a kind',
      names({ kind: undefined }),
      ['spec.names.singular: Required value', 'spec.names.kind: Required value', 'spec.names.listKind: Required value'],
    ],
    [
      'have a malformed kind',
      names({ kind: 'a b', singular: 'x', listKind: 'XList' }),
      [`spec.names.kind: Invalid value: "a b": may have mixed case, but should otherwise match: ${dns1035Label}`],
    ],
    [
      'have the same kind for objects and lists',
      names({ listKind: 'Widget' }),
      ['spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same'],
    ],
    [
      'have a singular in upper case',
      names({ singular: 'A' }),
      [`spec.names.singular: Invalid value: "A": ${dns1035Label}`],
    ],
    [
      'have short names in upper case',
      names({ shortNames: ['A'] }),
      [`spec.names.shortNames[0]: Invalid value: "A": ${dns1035Label}`],
    ],
    [
      'have categories in upper case',
      names({ categories: ['A'] }),
      [`spec.names.categories[0]: Invalid value: "A": ${dns1035Label}`],
    ],
    [
      'lack versions',
      spec({ versions: [] }),
      [
        'spec.versions: Invalid value: []: must have exactly one version marked as storage version',
        'status.storedVersions: Invalid value: null: must have at least one stored version',
      ],
    ],
    [
      'have a malformed version name',
      version({ name: 'V_1' }),
      [
        `spec.versions[0].name: Invalid value: "V_1": ${dns1035Label}`,
        `spec.version: Invalid value: "V_1": ${dns1035Label}`,
      ],
    ],
    ['lack a schema', version({ schema: undefined }), ['spec.versions[0].schema.openAPIV3Schema: Required value']],
    [
      'preserve unknown fields for all versions',
      spec({ preserveUnknownFields: true }),
      [
        'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in ' +
          'spec.versions[*].schema instead',
      ],
    ],
    [
      'have a deprecation warning for a version that is not deprecated',
      version({ deprecationWarning: 'x' }),
      ['spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions'],
    ],
    [
      'have the conversion strategy Webhook without a webhook',
      spec({ conversion: { strategy: 'Webhook' } }),
      [
        'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
        'spec.conversion.conversionReviewVersions: Required value',
      ],
    ],
    [
      'have an unknown conversion strategy',
      spec({ conversion: { strategy: 'Magic' } }),
      ['spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"'],
    ],
    ['have a schema without a type', schema({}), [`${root}.type: Required value: must not be empty at the root`]],
    [
      'have a schema of the type string',
      schema({ type: 'string' }),
      [`${root}.type: Invalid value: "string": must be object at the root`],
    ],
    [
      'have a nullable schema',
      schema({ type: 'object', nullable: true }),
      [`${root}.nullable: Forbidden: nullable cannot be true at the root`],
    ],
    ['have a schema with an id', schema({ type: 'object', id: 'x' }), [`${root}.id: Forbidden: id is not supported`]],
    [
      'have a schema with patternProperties',
      schema({ type: 'object', patternProperties: { a: { type: 'string' } } }),
      [`${root}.patternProperties: Forbidden: patternProperties is not supported`],
    ],
    [
      'set x-kubernetes-preserve-unknown-fields to false',
      schema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': false }),
      [`${root}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`],
    ],
    [
      'have defaults for metadata',
      schema({
        type: 'object',
        properties: { metadata: { type: 'object', properties: { name: { type: 'string', default: 'x' } } } },
      }),
      [`${root}.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata`],
    ],
    [
      'have schemas for metadata other than the name',
      schema({
        type: 'object',
        properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } },
      }),
      [
        `${root}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is ` +
          'implicitly specified',
      ],
    ],
    [
      'have properties without a type',
      property({}),
      [`${a}.type: Required value: must not be empty for specified object fields`],
    ],
    [
      'have properties of an unknown type',
      property({ type: 'nonsense' }),
      [
        `${a}.type: Unsupported value: "nonsense": supported values: "array", "boolean", "integer", "number", "object", ` +
          '"string"',
      ],
    ],
    ['have lists without items', property({ type: 'array' }), [`${a}.items: Required value: must be specified`]],
    [
      'have items without a type',
      property({ type: 'array', items: {} }),
      [`${a}.items.type: Required value: must not be empty for specified array items`],
    ],
    [
      'have unique items',
      property({ type: 'array', items: { type: 'string' }, uniqueItems: true }),
      [`${a}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`],
    ],
    [
      'have malformed patterns',
      property({ type: 'string', pattern: '(' }),
      [
        `${a}.pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing ` +
          'closing ): `(`',
      ],
    ],
    [
      'have defaults of another type',
      property({ type: 'string', default: 5 }),
      [['FieldValueTypeInvalid', `${a}.default: Invalid value: "integer":  in body must be of type string: "integer"`]],
    ],
    [
      'have defaults with unknown fields',
      property({ type: 'object', default: { x: 1 } }),
      [`${a}.default: Invalid value: {"x":1}: must not have unknown fields`],
    ],
    [
      'have properties and additionalProperties',
      property({ type: 'object', properties: { x: { type: 'string' } }, additionalProperties: { type: 'string' } }),
      [`${a}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`],
    ],
    [
      'have types in anyOf',
      property({ type: 'object', anyOf: [{ type: 'object' }] }),
      [`${a}.anyOf[0].type: Forbidden: must be empty to be structural`],
    ],
    ['have $ref', property({ $ref: '#/x' }), [`${a}.$ref: Forbidden: $ref is not supported`]],
    [
      'have keyed lists without keys',
      property({ type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object' } }),
      [`${a}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`],
    ],
    [
      'have list keys without a default that are not required',
      property({
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['n'],
        items: { type: 'object', properties: { n: { type: 'string' } } },
      }),
      [
        `${a}.items.properties[n].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a ` +
          'default or be a required property',
      ],
    ],
    [
      'have an unknown list type',
      property({ type: 'array', 'x-kubernetes-list-type': 'x', items: { type: 'string' } }),
      [`${a}.x-kubernetes-list-type: Unsupported value: "x": supported values: "atomic", "set", "map"`],
    ],
    [
      'have embedded resources without properties',
      property({ type: 'object', 'x-kubernetes-embedded-resource': true }),
      [
        `${a}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without ` +
          'x-kubernetes-preserve-unknown-fields',
      ],
    ],
    [
      'have columns without a jsonPath',
      version({ additionalPrinterColumns: [{ name: 'x', type: 'string' }] }),
      ['spec.additionalPrinterColumns[0].JSONPath: Required value'],
    ],
    [
      'have columns without a name',
      version({ additionalPrinterColumns: [{ type: 'string', jsonPath: '.x' }] }),
      ['spec.additionalPrinterColumns[0].name: Required value'],
    ],
    [
      'have columns of an unknown type',
      version({ additionalPrinterColumns: [{ name: 'x', type: 'nonsense', jsonPath: '.x' }] }),
      [
        'spec.additionalPrinterColumns[0].type: Invalid value: "nonsense": must be one of boolean,date,integer,number,string',
      ],
    ],
    [
      'have columns with a malformed jsonPath',
      version({ additionalPrinterColumns: [{ name: 'x', type: 'string', jsonPath: 'x[' }] }),
      ['spec.additionalPrinterColumns[0].JSONPath: Invalid value: "x[": must be a simple json path starting with .'],
    ],
    [
      'have a scale without paths',
      version({ subresources: { scale: {} } }),
      [
        'spec.subresources.scale.specReplicasPath: Required value',
        'spec.subresources.scale.statusReplicasPath: Required value',
      ],
    ],
    [
      'have a scale with paths outside of spec and status',
      version({ subresources: { scale: { specReplicasPath: '.x', statusReplicasPath: '.spec.x' } } }),
      [
        'spec.subresources.scale.specReplicasPath: Invalid value: ".x": should be a json path under .spec',
        'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.x": should be a json path under .status',
      ],
    ],
    [
      'have selectable fields that the schema does not have',
      version({ selectableFields: [{ jsonPath: '.spec.x' }] }),
      [
        'spec.selectableFields[0].jsonPath: Invalid value: ".spec.x": is an invalid path: does not refer to a valid field',
      ],
    ],
  ])('a CRD cannot %s', async (_, change, causes) => {
    expectInvalid(await send(change), subject(), ...causes)
  })

  test('the name of a CRD must consist of its plural and its group', async () => {
    const answer = await send(({ metadata }) => {
      metadata['name'] = 'other'
    })
    expectInvalid(
      answer,
      subject('other'),
      'metadata.name: Invalid value: "other": must be spec.names.plural+"."+spec.group',
    )
  })

  test('a CRD cannot lack a group', async () => {
    const name = `widgets.${cluster.group}`
    expectInvalid(
      await send(({ spec }) => delete spec['group']),
      subject(),
      `metadata.name: Invalid value: "${name}": must be spec.names.plural+"."+spec.group`,
      'spec.group: Required value',
    )
  })

  test.each([
    [
      'Upper.Case',
      [
        `metadata.name: Invalid value: "widgets.Upper.Case": ${subdomain}`,
        `spec.group: Invalid value: "Upper.Case": ${subdomain}`,
      ],
    ],
    ['dotless', ['spec.group: Invalid value: "dotless": should be a domain with at least one dot']],
    [
      'some.k8s.io',
      [
        'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation ' +
          '"api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
      ],
    ],
  ])('a CRD cannot be in the group %j', async (group, causes) => {
    const answer = await send((definition) => {
      definition.spec['group'] = group
      definition.metadata['name'] = `widgets.${group}`
    })
    expectInvalid(answer, subject(`widgets.${group}`), ...causes)
  })

  const marked =
    /^spec\.versions: Invalid value: \[.*\]: (must have exactly one version marked as storage version|must contain unique version names)$/

  test.each<[string, Array<Tree>, string]>([
    ['have no storage version', [{ storage: false }], 'must have exactly one version marked as storage version'],
    ['have two storage versions', [{}, { name: 'v2' }], 'must have exactly one version marked as storage version'],
    ['have two versions of the same name', [{}, { storage: false }], 'must contain unique version names'],
  ])('a CRD cannot %s', async (_, changes, rule) => {
    const answer = await send(({ spec }) => {
      const [first] = spec.versions
      spec.versions = changes.map((change) => ({ ...first, ...change }))
    })
    expect(answer.status).toBe(422)
    // The message prints the list of versions in Go syntax.
    const [cause] = (answer.body['details'] as { causes: Array<{ field: string; message: string }> }).causes
    const text = `${cause!.field}: ${cause!.message}`
    expect(marked.exec(text)?.[1]).toBe(rule)
  })

  test('a CRD cannot be created in another apiVersion than that of the path', async () => {
    const answer = await send((definition) => {
      definition['apiVersion'] = 'apiextensions.k8s.io/v1beta1'
    })
    const message =
      'the API version in the data (apiextensions.k8s.io/v1beta1) does not match the expected API version (apiextensions.k8s.io/v1)'
    expectFailure(answer, 400, 'BadRequest', message)
  })

  test('a CRD with values of wrong types is a bad request', async () => {
    const answer = await send(property({ type: 'integer', minimum: 'x' }))
    const message =
      'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: json: cannot unmarshal ' +
      'string into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.minimum of type float64'
    expectFailure(answer, 400, 'BadRequest', message)
  })
})

describe('accepted CRDs', () => {
  test('a CRD gets its singular, listKind and defaults from its kind', async () => {
    const { body } = await send(() => {})
    expect(body).toEqual({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `widgets.${cluster.group}`, uid: uuid, creationTimestamp: timestamp, generation: 1 },
      spec: {
        group: cluster.group,
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
        scope: 'Namespaced',
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
        conversion: { strategy: 'None' },
      },
      status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
    })
  })

  test('a new CRD cannot set its own status', async () => {
    const conditions = [{ type: 'Established', status: 'True' }]
    const answer = await send((definition) => {
      definition['status'] = { conditions }
    })
    expect(expectStatus(answer, 201).status).toMatchObject({ conditions: null })
  })

  test.each<[string, (definition: Definition) => void, string]>([
    ['unknown fields', spec({ nonsense: 1 }), 'unknown field "spec.nonsense"'],
    [
      'unknown fields of schemas',
      schema({ type: 'object', nonsense: 1 }),
      'unknown field "spec.versions[0].schema.openAPIV3Schema.nonsense"',
    ],
    ['unknown formats', property({ type: 'integer', format: 'nonsense' }), 'unrecognized format "nonsense"'],
  ])('the API server warns about %s in a CRD', async (_, change, warning) => {
    const answer = await send(change)
    expect(answer.status).toBe(201)
    expect(warningsOf(answer)).toEqual([warning])
  })

  test('the schema of a CRD may restrict metadata.name', async () => {
    const metadata = { type: 'object', properties: { name: { type: 'string', pattern: '^a' } } }
    expect((await send(schema({ type: 'object', properties: { metadata } }))).status).toBe(201)
  })
})
