import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { decodeProtobuf } from './decode.ts'
import { ProtobufError } from './wire.ts'

interface Recorded {
  readonly command: string
  readonly path: string
  readonly body: string
  readonly printed?: unknown
  readonly shown?: unknown
}

function read(file: string): Recorded[] {
  return JSON.parse(readFileSync(new URL(`testdata/${file}.json`, import.meta.url), 'utf8')) as Recorded[]
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))]
}

/** A length-delimited field: text, or the bytes of other fields. */
function field(number: number, content: string | Iterable<number>): Uint8Array {
  const bytes = typeof content === 'string' ? Buffer.from(content) : Uint8Array.from(content)
  return Buffer.concat([Uint8Array.from([...varint((number << 3) | 2), ...varint(bytes.length)]), bytes])
}

function envelope(apiVersion: string, kind: string, ...fields: Iterable<number>[]): Uint8Array {
  const raw = Buffer.concat(fields.map((bytes) => Uint8Array.from(bytes)))
  const type = Buffer.concat([field(1, apiVersion), field(2, kind)])
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, raw), field(3, ''), field(4, '')])
}

const configMap = (...fields: Iterable<number>[]): Uint8Array => envelope('v1', 'ConfigMap', ...fields)
const crd = (schema: Iterable<number>): Uint8Array =>
  envelope('apiextensions.k8s.io/v1', 'CustomResourceDefinition', field(2, field(7, field(4, field(1, schema)))))

function schemaOf(decoded: unknown): unknown {
  const { spec } = decoded as { spec: { versions: Array<{ schema: { openAPIV3Schema: unknown } }> } }
  return spec.versions[0]!.schema.openAPIV3Schema
}

function outcomeOf(bytes: Uint8Array): unknown {
  try {
    return decodeProtobuf(bytes)
  } catch (error) {
    return error
  }
}

describe('what kubectl sends', () => {
  const recorded = read('kubectl')

  test.each(recorded.filter(({ printed }) => printed !== undefined))('is what it prints: $command', (entry) => {
    expect(decodeProtobuf(Buffer.from(entry.body, 'base64'))).toEqual(entry.printed)
  })

  test.each([
    ['create token', { kind: 'TokenRequest', spec: { audiences: ['here'], expirationSeconds: 3600 } }],
    [
      'auth can-i list',
      {
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { verb: 'list', group: 'apps', resource: 'deployments', subresource: 'scale' } },
      },
    ],
    [
      'auth can-i get',
      { kind: 'SelfSubjectAccessReview', spec: { nonResourceAttributes: { path: '/metrics', verb: 'get' } } },
    ],
    ['auth can-i --list', { kind: 'SelfSubjectRulesReview', spec: { namespace: 'default' } }],
    ['auth whoami', { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1', status: { userInfo: {} } }],
    ['drain', { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 3 }],
  ])('is understood: %s', (command, expected) => {
    const entry = recorded.find((one) => one.command.startsWith(command))!
    expect(decodeProtobuf(Buffer.from(entry.body, 'base64'))).toMatchObject(expected)
  })
})

describe('what the real server shows', () => {
  test.each(read('stored'))('is the same in JSON, with the fields in the same order: $path', ({ body, shown }) => {
    expect(JSON.stringify(decodeProtobuf(Buffer.from(body, 'base64')))).toBe(JSON.stringify(shown))
  })
})

describe('a message', () => {
  test('is of the expected kind where it does not say', () => {
    const bytes = envelope('', '', field(1, field(1, 'a')))
    const expected = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
    expect(decodeProtobuf(bytes, { apiVersion: 'v1', kind: 'ConfigMap' })).toEqual(expected)
  })

  test('is of the expected version where its own is none', () => {
    const bytes = envelope('a/b/c', 'ConfigMap')
    expect(decodeProtobuf(bytes, { apiVersion: 'v1', kind: 'Secret' })).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
    })
  })

  test('needs nothing in it', () => {
    const bytes = Buffer.concat([Buffer.from('k8s\0'), field(1, Buffer.concat([field(1, 'v1'), field(2, 'Pod')]))])
    expect(decodeProtobuf(bytes)).toEqual({
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: {},
      spec: { containers: null },
      status: {},
    })
  })

  test('adds to itself when it comes in parts', () => {
    const bytes = configMap(field(1, field(1, 'a')), field(1, field(3, 'space')), field(1, field(1, 'b')))
    expect(decodeProtobuf(bytes)).toMatchObject({ metadata: { name: 'b', namespace: 'space' } })
  })

  test('may have fields that nobody knows', () => {
    const group = [0x53, 0x08, 0x01, 0x54]
    const bytes = configMap(group, field(1, field(1, 'a')), field(1000, 'new'), [0x7d, 1, 2, 3, 4])
    expect(decodeProtobuf(bytes)).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })
  })

  test('may have options of any group', () => {
    const bytes = envelope('apps/v1', 'DeleteOptions', field(4, 'Foreground'), [0x18, 0x00], field(5, 'All'))
    expect(decodeProtobuf(bytes)).toEqual({
      apiVersion: 'apps/v1',
      kind: 'DeleteOptions',
      orphanDependents: false,
      propagationPolicy: 'Foreground',
      dryRun: ['All'],
    })
  })
})

describe('values', () => {
  test('of maps may have any key, or lack key and value', () => {
    const entry = (key: string, value: string): Uint8Array => field(2, Buffer.concat([field(1, key), field(2, value)]))
    const decoded = decodeProtobuf(configMap(entry('__proto__', 'x'), entry('constructor', 'y'), field(2, []))) as {
      data: object
    }
    expect(Object.entries(decoded.data)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
      ['', ''],
    ])
    expect(Object.getPrototypeOf(decoded.data)).toBe(Object.prototype)
  })

  test('that are no UTF-8 are replaced, as in the JSON of the real server', () => {
    const bytes = configMap(field(2, Buffer.concat([field(1, 'x'), field(2, [0xff, 0xfe])])))
    expect(decodeProtobuf(bytes)).toMatchObject({ data: { x: '\ufffd\ufffd' } })
  })

  test.each([
    ['a zero that is set', [0x08, 0x00], '1970-01-01T00:00:00.000000Z'],
    ['microseconds, the rest cut off', [0x08, 0x01, 0x10, ...varint(1_999)], '1970-01-01T00:00:01.000001Z'],
    ['a time before 1970', [0x08, ...Array(9).fill(0xff), 0x01, 0x10, ...varint(5_000)], '1969-12-31T23:59:59.000005Z'],
    ['no time', [], null],
    ['the zero of Go', [0x08, 0x80, 0x92, 0xb8, 0xc3, 0x98, 0xfe, 0xff, 0xff, 0xff, 0x01], null],
  ])('can be times: %s', (_, bytes, expected) => {
    const lease = envelope('coordination.k8s.io/v1', 'Lease', field(2, field(4, bytes)))
    expect(decodeProtobuf(lease)).toMatchObject({ spec: { renewTime: expected } })
  })

  test.each([
    ['numbers', [0x08, 0x00, 0x10, 0x05, 0x1a, 0x00], 5],
    ['texts', [0x08, 0x01, 0x10, 0x00, ...field(3, '50%')], '50%'],
    ['nothing, which is a number', [], 0],
  ])('of two types can be %s', (_, bytes, expected) => {
    const budget = envelope('policy/v1', 'PodDisruptionBudget', field(2, field(1, bytes)))
    expect(decodeProtobuf(budget)).toMatchObject({ spec: { minAvailable: expected } })
  })

  test.each([
    [
      'a schema for the rest',
      [...field(30, [0x08, 0x01, ...field(2, field(5, 'string'))])],
      { additionalProperties: { type: 'string' } },
    ],
    ['no rest', [...field(30, [0x08, 0x00])], { additionalProperties: false }],
    ['any rest', [...field(30, [0x08, 0x01])], { additionalProperties: true }],
    ['one schema of items', [...field(24, field(1, field(5, 'string')))], { items: { type: 'string' } }],
    ['many schemas of items', [...field(24, field(2, field(5, 'string')))], { items: [{ type: 'string' }] }],
    ['no schema of items', [...field(24, [])], { items: null }],
    [
      'keys that need others',
      [...field(32, [...field(1, 'a'), ...field(2, field(2, 'b'))])],
      { dependencies: { a: ['b'] } },
    ],
    ['a default of null', [...field(8, field(1, 'null'))], { default: null }],
    ['a maximum of zero', [0x49, 0, 0, 0, 0, 0, 0, 0, 0], { maximum: 0 }],
  ])('of schemas can be %s', (_, bytes, expected) => {
    expect(schemaOf(decodeProtobuf(crd(bytes)))).toEqual(expected)
  })

  test('of lists may be packed', () => {
    const bytes = envelope(
      'v1',
      'Pod',
      field(2, field(14, field(4, [0x01, 0x80, 0x01]))),
      field(2, field(14, [0x20, 0x03])),
    )
    expect(decodeProtobuf(bytes)).toMatchObject({ spec: { securityContext: { supplementalGroups: [1, 128, 3] } } })
  })
})

describe('refuses', () => {
  const quantity = (text: string): Uint8Array =>
    field(2, field(1, Buffer.concat([field(1, 'cpu'), field(2, field(1, text))])))

  test.each([
    ['nothing', new Uint8Array(), 'empty data'],
    [
      'JSON',
      Buffer.from('{}'),
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    ],
    ['a prefix with nothing after it', Buffer.from('k8s\0'), 'empty body'],
    ['an envelope cut off', Buffer.from('k8s\0\x0a\x50'), 'unexpected EOF'],
    ['an envelope of other fields', Buffer.from('k8s\0\x08\x50'), 'proto: wrong wireType = 0 for field TypeMeta'],
    [
      'a kind that there is not',
      envelope('v1', 'Foo'),
      'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'a kind of all objects',
      envelope('v1', 'toString'),
      'no kind "toString" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    ['no kind', envelope('v1', ''), `Object 'Kind' is missing in 'runtime.TypeMeta{APIVersion:"v1", Kind:""}'`],
    ['a message cut off', configMap([0x0a, 0x50]), 'unexpected EOF'],
    ['a number for a message', configMap([0x08, 0x50]), 'proto: wrong wireType = 0 for field ObjectMeta'],
    [
      'a text for a number',
      envelope('v1', 'DeleteOptions', field(1, 'a')),
      'proto: wrong wireType = 2 for field GracePeriodSeconds',
    ],
    ['the end of a group', configMap([0x0c]), 'proto: ConfigMap: wiretype end group for non-group'],
    ['a field without a number', configMap([0x02, 0x00]), 'proto: ConfigMap: illegal tag 0 (wire type 2)'],
    ['a number without an end', configMap(new Uint8Array(12).fill(0xff)), 'proto: integer overflow'],
    [
      'a negative length',
      configMap([0x0a, ...Array(9).fill(0xff), 0x01]),
      'proto: negative length found during unmarshaling',
    ],
    ['an open group', configMap([0x53, 0x08, 0x01]), 'unexpected EOF'],
    ['an unknown type of field', configMap([0x57, 0x08]), 'proto: illegal wireType 7'],
    ['a map entry cut off', configMap(field(2, [0x0a, 0x05])), 'unexpected EOF'],
    [
      'a quantity that is none',
      envelope('v1', 'ResourceQuota', quantity('abc')),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      'half a text of JSON',
      envelope('apps/v1', 'ControllerRevision', field(2, field(1, '{"a":'))),
      'unexpected end of JSON input',
    ],
    [
      'a third type of two',
      envelope('policy/v1', 'PodDisruptionBudget', field(2, field(1, [0x08, 0x05]))),
      'impossible IntOrString.Type',
    ],
    ['a number that is none', crd([0x49, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f]), 'json: unsupported value: NaN'],
  ])('%s', (_, bytes, message) => {
    const error = outcomeOf(bytes)
    expect(error).toBeInstanceOf(ProtobufError)
    expect((error as Error).message).toBe(message)
  })

  test('other kinds where options are expected', () => {
    const expected = { apiVersion: 'meta.k8s.io/v1', kind: 'DeleteOptions' }
    expect(() => decodeProtobuf(configMap(), expected)).toThrow('no kind "ConfigMap" is registered for version "v1"')
  })

  test('a time beyond the calendar', () => {
    const lease = envelope('coordination.k8s.io/v1', 'Lease', field(2, field(4, [0x08, ...Array(8).fill(0xff), 0x01])))
    expect(() => decodeProtobuf(lease)).toThrow(ProtobufError)
  })

  function nested(depth: number): Uint8Array {
    // Built from the inside out, since each message needs the length of its content.
    const parts: number[][] = []
    for (let length = 0, level = 0; level < depth; level += 1) {
      const head = [...varint((28 << 3) | 2), ...varint(length)]
      parts.push(head)
      length += head.length
    }
    return crd(parts.reverse().flat())
  }

  test('what is nested too deep, and no sooner', () => {
    expect(schemaOf(decodeProtobuf(nested(900)))).toHaveProperty('not.not.not')
    expect(() => decodeProtobuf(nested(100_000))).toThrow('proto: exceeded max depth of 1000')
  })

  test('broken bodies with no other error than its own', () => {
    const entry = read('kubectl').find(({ command }) => command.startsWith('create deployment'))!
    const whole = Buffer.from(entry.body, 'base64')
    const broken: Uint8Array[] = []
    for (let index = 0; index < whole.length; index += 1) {
      broken.push(whole.subarray(0, index))
      for (const byte of [0x00, 0x7f, 0x80, 0xff]) broken.push(Buffer.from(whole).fill(byte, index, index + 1))
    }
    const errors = broken.map(outcomeOf).filter((outcome) => outcome instanceof Error)
    expect(errors.length).toBeGreaterThan(broken.length / 3)
    expect(errors.filter((error) => !(error instanceof ProtobufError))).toEqual([])
  })
})
