import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import type { StatusError } from '../status.ts'
import { applyScale, toScale, validateScaleSpec, validateScaleStatus } from './scale.ts'

const paths = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
}

function object(spec: unknown, status?: unknown): KubeObject {
  const metadata = { name: 'a', namespace: 'b', uid: 'c', resourceVersion: '5', labels: { x: 'y' } }
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata, spec, ...(status === undefined ? {} : { status }) }
}

function failure(action: () => unknown): unknown {
  try {
    return action()
  } catch (error) {
    return (error as StatusError).toStatus()
  }
}

describe('the Scale of an object', () => {
  test('is made of its replicas and its selector', () => {
    expect(toScale(object({ replicas: 3 }, { replicas: 2, selector: 'a=b' }), paths)).toEqual({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'a', namespace: 'b', uid: 'c', resourceVersion: '5' },
      spec: { replicas: 3 },
      status: { replicas: 2, selector: 'a=b' },
    })
  })

  test('writes zero replicas in the status only', () => {
    expect(toScale(object({ replicas: 0 }), paths)).toMatchObject({ spec: {}, status: { replicas: 0 } })
  })

  test('is an error where there are no replicas', () => {
    expect(failure(() => toScale(object({}), paths))).toMatchObject({
      code: 500,
      reason: 'InternalError',
      message: 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist',
      details: { causes: [{ message: 'the spec replicas field ".spec.replicas" does not exist' }] },
    })
  })

  test('is an error where the replicas are no number', () => {
    expect(failure(() => toScale(object({ replicas: { b: [1, null], a: true } }), paths))).toMatchObject({
      code: 500,
      message:
        '.spec.replicas accessor error: map[a:true b:[1 <nil>]] is of the type map[string]interface {}, expected int64',
    })
  })
})

describe('an update of the Scale', () => {
  test('changes the replicas of a copy', () => {
    const before = object({ replicas: 1, other: 'x' })
    const after = applyScale(before, { ...toScale(before, paths), spec: { replicas: 4 } }, paths)
    expect(after).toEqual(object({ replicas: 4, other: 'x' }))
    expect(before).toEqual(object({ replicas: 1, other: 'x' }))
  })

  test('makes the fields on the way', () => {
    const before = object(undefined)
    delete before['spec']
    const scale = toScale(before, paths, { forUpdate: true })
    expect(applyScale(before, { ...scale, spec: { replicas: 2 } }, paths)['spec']).toEqual({ replicas: 2 })
  })

  test('takes the version that the client insists on', () => {
    const before = object({ replicas: 1 })
    const scale = toScale(before, paths)
    const insisting = { ...scale, metadata: { ...scale.metadata, resourceVersion: '4' } }
    expect(applyScale(before, insisting, paths).metadata.resourceVersion).toBe('4')
  })

  test('has to set replicas that were not there', () => {
    const before = object({})
    expect(failure(() => applyScale(before, toScale(before, paths, { forUpdate: true }), paths))).toMatchObject({
      code: 400,
      message: 'the spec replicas field ".spec.replicas" cannot be empty',
    })
  })

  test('cannot go through what is no object', () => {
    const scale = toScale(object({ replicas: 1 }), paths)
    expect(failure(() => applyScale(object('x'), scale, paths))).toMatchObject({
      code: 500,
      message: 'value cannot be set because .spec is not a map[string]interface{}',
    })
  })
})

test.each([
  [-1, 'Invalid value: -1: should be a non-negative integer'],
  [2147483648, 'Invalid value: 2147483648: should be less than or equal to 2147483647'],
  ['x', 'Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64'],
])('replicas cannot be %j', (replicas, body) => {
  expect(validateScaleSpec(object({ replicas }), paths)).toEqual([
    { type: 'FieldValueInvalid', field: '.spec.replicas', body },
  ])
})

test('a selector has to be a text', () => {
  const body = 'Invalid value: "": .status.selector accessor error: 5 is of the type int64, expected string'
  const errors = validateScaleStatus(object({}, { selector: 5 }), paths)
  expect(errors).toEqual([{ type: 'FieldValueInvalid', field: '.status.selector', body }])
})
