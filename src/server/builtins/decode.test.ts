import { describe, expect, test } from 'vitest'
import { DecodeError, decodeStruct } from './decode.ts'
import { encodeStruct } from './encode.ts'
import { Types } from './types.ts'

const types = new Types()
const decodePod = (body: unknown): ReturnType<typeof decodeStruct> => decodeStruct(types, 'core.v1.Pod', body)

function failure(type: string, body: unknown): string {
  try {
    decodeStruct(types, type, body)
  } catch (error) {
    if (error instanceof DecodeError) return error.message
    throw error
  }
  return 'nothing'
}

function nested(levels: number): unknown {
  return JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
}

describe('unknown fields', () => {
  test('are dropped and named with their path', () => {
    const { object, problems } = decodePod({
      a: 1,
      spec: { b: 1, containers: [{ name: 'x' }, { c: [] }], nodeSelector: { d: 'e' } },
    })
    expect(problems).toEqual(['unknown field "a"', 'unknown field "spec.b"', 'unknown field "spec.containers[1].c"'])
    expect(object).toEqual({ spec: { containers: [{ name: 'x' }, {}], nodeSelector: { d: 'e' } } })
  })

  test('are matched by case', () => {
    expect(decodePod({ Spec: {} }).problems).toEqual(['unknown field "Spec"'])
  })

  test('are named a hundred times at most', () => {
    const body = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`f${index}`, 1]))
    expect(decodePod(body).problems).toHaveLength(100)
  })

  test('may be called as things that every object has', () => {
    const { object, problems } = decodePod(JSON.parse('{"constructor":{},"toString":1,"__proto__":{"spec":{}}}'))
    expect(problems).toEqual(['unknown field "constructor"', 'unknown field "toString"', 'unknown field "__proto__"'])
    expect(object).toEqual({})
  })
})

describe('keys of maps are kept whatever they are called', () => {
  test('__proto__ among the data of a config map', () => {
    const { object } = decodeStruct(
      types,
      'core.v1.ConfigMap',
      JSON.parse('{"data":{"__proto__":"x","constructor":"y"}}'),
    )
    const encoded = encodeStruct(types, 'core.v1.ConfigMap', object)
    expect(Object.keys(encoded['data'] as object)).toEqual(['__proto__', 'constructor'])
    expect(JSON.stringify(encoded)).toContain('"__proto__":"x"')
  })
})

test('null is the same as absent', () => {
  expect(decodePod({ spec: null, metadata: { labels: null } }).object).toEqual({ metadata: {} })
})

test('null in a list or a map is the zero value', () => {
  expect(decodePod({ spec: { containers: [null] }, metadata: { labels: { a: null } } }).object).toEqual({
    spec: { containers: [{}] },
    metadata: { labels: { a: '' } },
  })
})

test('what nobody reads may be ten thousand levels deep', () => {
  const deep = nested(10_000)
  expect(decodePod({ unknown: deep }).problems).toEqual(['unknown field "unknown"'])
  const { object } = decodeStruct(types, 'apps.v1.ControllerRevision', { data: deep })
  expect(encodeStruct(types, 'apps.v1.ControllerRevision', object)['data']).toBeTypeOf('object')
})

describe("wrong types are refused in Go's words", () => {
  test.each([
    ['core.v1.Pod', [], 'json: cannot unmarshal array into Go value of type v1.Pod'],
    ['core.v1.Pod', { kind: 1 }, 'json: cannot unmarshal number into Go struct field Pod.TypeMeta.kind of type string'],
    [
      'core.v1.Pod',
      { metadata: { labels: { a: 1 } } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    ],
    [
      'core.v1.Pod',
      { metadata: { uid: {} } },
      'json: cannot unmarshal object into Go struct field ObjectMeta.metadata.uid of type types.UID',
    ],
    [
      'core.v1.Secret',
      { data: { a: 1 } },
      'json: cannot unmarshal number into Go struct field Secret.data of type []uint8',
    ],
    [
      'apps.v1.Deployment',
      { spec: { replicas: 2 ** 31 } },
      'json: cannot unmarshal number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'core.v1.Pod',
      { spec: { hostNetwork: 'yes' } },
      'json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool',
    ],
    [
      'core.v1.Pod',
      { spec: { overhead: [] } },
      'json: cannot unmarshal array into Go struct field PodSpec.spec.overhead of type v1.ResourceList',
    ],
  ])('%s %j', (type, body, message) => {
    expect(failure(type, body)).toBe(message)
  })

  test('the first mismatch is named, unless one that stops the decoder follows', () => {
    expect(failure('core.v1.Pod', { spec: { hostNetwork: 1, hostPID: 1 } })).toContain('hostNetwork')
    expect(failure('core.v1.Pod', { spec: { hostNetwork: 1, overhead: { cpu: 'x' } } })).toContain(
      'quantities must match',
    )
  })
})
