/** Resource definitions: their defaults and refused values. test/types covers their types. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { KopfError } from '../../errors.ts'
import { defineResource, type ResourceOptions, resource } from './resources.ts'
import { EVERYTHING } from './selector-notations.ts'
import { toSelector } from './selectors.ts'

const minimal = { group: 'example.com', version: 'v1', kind: 'Database' }

test.each([
  ['Database', 'databases'],
  ['Policy', 'policies'],
  ['Gateway', 'gateways'],
  ['Box', 'boxes'],
  ['Ingress', 'ingresses'],
  ['Batch', 'batches'],
  ['KopfExample', 'kopfexamples'],
])('the plural of %s is %s', (kind, plural) => {
  expect(defineResource({ ...minimal, kind })).toMatchObject({ plural, singular: kind.toLowerCase() })
})

test('a resource definition fills in omitted fields', () => {
  expect(defineResource(minimal)).toEqual({
    ...minimal,
    selector: { group: 'example.com', version: 'v1', plural: 'databases' },
    plural: 'databases',
    singular: 'database',
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    spec: undefined,
    status: undefined,
  })
})

test('a resource definition keeps given fields', () => {
  const given = {
    plural: 'datas',
    singular: 'data',
    shortNames: ['db'],
    categories: ['all'],
    scope: 'Cluster',
  } as const
  const spec = z.object({})
  expect(defineResource({ ...minimal, ...given, spec })).toMatchObject({
    ...given,
    spec,
    selector: { plural: 'datas' },
  })
})

test.each<[object, RegExp]>([
  [{ kind: 'database' }, /kind must be in CamelCase/],
  [{ kind: 'Data-Base' }, /kind must be in CamelCase/],
  [{ kind: undefined }, /kind must be in CamelCase/],
  [{ group: 'apps' }, /needs a domain with a dot.*resource<T>\("apps\/v1", "name"\)/],
  [{ group: '' }, /must be a domain/],
  [{ group: 'Example.com' }, /must be a domain/],
  [{ group: 'example.com/v1' }, /must be a domain/],
  [{ version: '1' }, /must be like "v1"/],
  [{ version: 'v1.0' }, /must be like "v1"/],
  [{ plural: 'Databases' }, /"Databases" is not a valid name/],
  [{ singular: '' }, /"" is not a valid name/],
  [{ shortNames: ['d b'] }, /"d b" is not a valid name/],
  [{ categories: ['All'] }, /"All" is not a valid name/],
  [{ scope: 'Namespace' }, /must be "Namespaced" or "Cluster"/],
  [{ spec: { type: 'object' } }, /its spec is not a schema/],
  [{ status: null }, /its status is not a schema/],
])('a resource definition with %j is refused', (wrong, message) => {
  const define = () => defineResource({ ...minimal, ...wrong } as ResourceOptions)
  expect(define).toThrow(KopfError)
  expect(define).toThrow(/^Cannot define the resource "/)
  expect(define).toThrow(message)
})

const schemas = {
  spec: z.object({
    size: z.int(),
    ratio: z.number().optional(),
    color: z.string(),
    users: z.array(z.string()),
    limits: z.object({ cpu: z.string() }).optional(),
    parameters: z.record(z.string(), z.string()).optional(),
    extra: z.looseObject({}).optional(),
  }),
  status: z.object({ phase: z.string(), replicas: z.int(), selector: z.string() }),
}

test.each<object>([
  { printerColumns: [{ name: 'Phase', path: 'status.phase' }] },
  { printerColumns: [{ name: 'Since', path: 'metadata.creationTimestamp', type: 'date', priority: 1 }] },
  { printerColumns: [{ name: 'App', path: 'metadata.labels.app' }] },
  { printerColumns: [{ name: 'Level', path: 'spec.parameters.level' }] },
  { printerColumns: [{ name: 'Open', path: 'spec.extra.any.thing' }] },
  { printerColumns: [{ name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' }] },
  { printerColumns: [] },
  { scale: { specReplicas: 'spec.size', statusReplicas: 'status.replicas', selector: 'status.selector' } },
  { rules: [{ rule: 'true', message: 'never', reason: 'FieldValueInvalid', fieldPath: 'spec.limits' }] },
  { selectableFields: ['spec.color', 'spec.size', 'status.phase', 'spec.limits.cpu'] },
  { deprecated: true, served: false, storage: false },
  { deprecated: 'Use v2.', description: 'Words', labels: { a: 'b' }, annotations: {}, preserveUnknownFields: true },
])('a resource definition keeps the CRD options %j', (options) => {
  expect(defineResource({ ...minimal, ...schemas, ...options })).toMatchObject(options)
})

test.each<[object, RegExp | string]>([
  [{ printerColums: [] }, 'it has no option "printerColums"; did you mean "printerColumns"?'],
  [{ printercolumns: [] }, 'it has no option "printercolumns"; did you mean "printerColumns"?'],
  [
    { printerColumns: [{ name: 'Phase', path: 'status.phas' }] },
    "printerColumns[0]: 'status.phas' is not a path of Database; did you mean 'status.phase'?",
  ],
  [
    { printerColumns: [{ name: 'Age', path: 'metadata.creationTimestap' }] },
    "printerColumns[0]: 'metadata.creationTimestap' is not a path of Database; did you mean 'metadata.creationTimestamp'?",
  ],
  [
    { printerColumns: [{ name: 'User', path: 'spec.users.0' }] },
    /'spec\.users\.0' is not a path of Database; did you mean 'spec\.users'\?/,
  ],
  [
    { printerColumns: [{ name: 'X', path: 'whatever.completely' }] },
    /not a path of Database; add the field to the schema/,
  ],
  [{ printerColumns: [{ name: 'X', path: 'spec..size' }] }, /'spec\.\.size' is not a path/],
  [{ printerColumns: [{ name: 'X' }] }, 'printerColumns[0]: it has no "path"'],
  [{ printerColumns: ['status.phase'] }, 'printerColumns[0]: it must be an object with "name" and "path"'],
  [{ printerColumns: { name: 'X' } }, '"printerColumns" must be a list'],
  [
    { printerColumns: [{ name: 'X', jsonPath: '.spec.size', path: 'spec.size' }] },
    /^Cannot .* printerColumns\[0\]: it has no option "jsonPath"/,
  ],
  [
    { printerColumns: [{ name: 'X', path: 'spec.size', type: 'int' }] },
    'printerColumns[0]: "type" must be one of "string", "integer", "number", "boolean", "date"',
  ],
  [{ printerColumns: [{ name: 'X', path: 'spec.size', priority: -1 }] }, /"priority" must be a whole number/],
  [{ printerColumns: [{ name: 'X', path: 'spec.size', format: 'email' }] }, /"format" must be one of "int32"/],
  [
    {
      printerColumns: [
        { name: 'Size', path: 'spec.size' },
        { name: 'SIZE', path: 'spec.color' },
      ],
    },
    /printerColumns\[1\]: there are two columns "SIZE"/,
  ],
  [{ scale: { specReplicas: 'spec.size' } }, 'scale: it has no "statusReplicas"'],
  [
    { scale: { specReplicas: 'spec.siz', statusReplicas: 'status.replicas' } },
    "scale: 'spec.siz' is not a path of Database; did you mean 'spec.size'?",
  ],
  [
    { scale: { specReplicas: 'spec.color', statusReplicas: 'status.replicas' } },
    'scale: "specReplicas" is \'spec.color\', which is not a number in the schema',
  ],
  [
    { scale: { specReplicas: 'status.replicas', statusReplicas: 'status.replicas' } },
    'scale: "specReplicas" is \'status.replicas\', but must be a field in spec',
  ],
  [
    { scale: { specReplicas: 'spec.size', statusReplicas: 'status.replicas', selector: 'spec.size' } },
    /"selector" is 'spec\.size', which is not a string/,
  ],
  [{ rules: [{ rule: ' ' }] }, 'rules[0]: "rule" must be a CEL expression that is not empty'],
  [{ rules: [{ message: 'x' }] }, 'rules[0]: it has no "rule"'],
  [{ rules: [{ rule: 'true', mesage: 'x' }] }, 'rules[0]: it has no option "mesage"; did you mean "message"?'],
  [{ rules: [{ rule: 'true', reason: 'Invalid' }] }, /"reason" must be one of "FieldValueInvalid"/],
  [{ rules: [{ rule: 'true', message: 'a\nb' }] }, /"message" must be a string of one line/],
  [{ rules: [{ rule: 'true &&\ntrue' }] }, /rules\[0\]: a rule of several lines needs a "message"/],
  [{ rules: [{ rule: 'true', fieldPath: 'spec.siz' }] }, /did you mean 'spec\.size'/],
  [
    { rules: [{ rule: 'true', fieldPath: 'metadata.name' }] },
    /must be a field that the schema of spec or status declares/,
  ],
  [
    { selectableFields: ['spec.colour'] },
    "selectableFields: 'spec.colour' is not a path of Database; did you mean 'spec.color'?",
  ],
  [{ selectableFields: ['spec.ratio'] }, /'spec\.ratio' has the type number, but only strings, integers and booleans/],
  [{ selectableFields: ['spec.limits'] }, /'spec\.limits' has the type object/],
  [{ selectableFields: ['spec.extra.color'] }, /'spec\.extra\.color' is not declared in the schema/],
  [{ selectableFields: ['metadata.name'] }, /'metadata\.name' is not in spec or status/],
  [{ selectableFields: ['spec.color', '.spec.color'] }, "selectableFields: 'spec.color' is listed twice"],
  [{ selectableFields: [1] }, 'selectableFields: 1 is not a path'],
  [{ deprecated: '' }, '"deprecated" must be true, false or the text of the warning'],
  [{ deprecated: 'a\nb' }, /its deprecation warning has a line break/],
  [{ deprecated: 'ü'.repeat(129) }, /has 258 bytes, but the API server allows 256/],
  [{ served: 'no' }, '"served" must be true or false'],
  [{ storage: 1 }, '"storage" must be true or false'],
  [{ preserveUnknownFields: 'yes' }, '"preserveUnknownFields" must be true or false'],
  [{ description: 1 }, '"description" must be a string'],
  [{ labels: { a: 1 } }, /"labels" must be an object with strings/],
  [{ listKind: 'Database' }, /its listKind is "Database", but must be in CamelCase and not the kind/],
  [{ shortNames: 'db' }, '"shortNames" and "categories" must be lists of names, such as ["db"]'],
])('a resource definition with the CRD options %j is refused', (wrong, message) => {
  const define = () => defineResource({ ...minimal, ...schemas, ...wrong } as object as ResourceOptions)
  expect(define).toThrow(expect.objectContaining({ code: 'KOPF_RESOURCE' }))
  expect(define).toThrow(/^Cannot define the resource "Database": /)
  expect(define).toThrow(message)
})

test('more than 8 selectable fields are refused', () => {
  const names = Array.from({ length: 9 }, (_, at) => `field${at}`)
  const spec = z.object(Object.fromEntries(names.map((name) => [name, z.string()])))
  const selectableFields = names.map((name) => `spec.${name}`)
  expect(() => defineResource({ ...minimal, spec, selectableFields } as object as ResourceOptions)).toThrow(
    /selectableFields: there are 9 fields, but the API server allows 8/,
  )
})

test('a resource without schemas allows any path, but no selectable fields', () => {
  const columns = [{ name: 'Any', path: 'status.any' }] as const
  expect(defineResource({ ...minimal, printerColumns: columns }).printerColumns).toBe(columns)
  expect(() => defineResource({ ...minimal, selectableFields: ['spec.any'] })).toThrow(/is not declared in the schema/)
})

test('a definition can be spread into that of another version', () => {
  const first = defineResource({ ...minimal, ...schemas, shortNames: ['db'] })
  expect(defineResource({ ...first, version: 'v2' } as object as ResourceOptions)).toMatchObject({
    version: 'v2',
    shortNames: ['db'],
  })
})

test('a typed resource accepts every notation, and refuses an invalid notation at once', () => {
  expect(resource('v1', 'pods').selector).toEqual(['v1', 'pods'])
  expect(resource('apps', 'v1', 'deployments').selector).toEqual(['apps', 'v1', 'deployments'])
  expect(resource('pods').selector).toEqual('pods')
  expect(toSelector(resource('kopf.dev', EVERYTHING)).name).toBe(EVERYTHING)
  expect(toSelector(resource({ group: 'apps', kind: 'Deployment' }))).toMatchObject({
    group: 'apps',
    kind: 'Deployment',
  })
  expect(() => resource('kopf.dev/v1')).toThrow(KopfError)
})
