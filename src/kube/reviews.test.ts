import { describe, expect, test } from 'vitest'
import { WebhookError } from '../errors.ts'
import {
  isConversionReview,
  readAdmissionReview,
  readConversionReview,
  toAdmissionReview,
  toConversionReview,
} from './reviews.ts'

const request = {
  uid: 'u',
  resource: { group: '', version: 'v1', resource: 'pods' },
  operation: 'CREATE',
  userInfo: { username: 'x' },
  object: { kind: 'Pod' },
}

describe('an admission review', () => {
  test('is read with what may be missing', () => {
    expect(readAdmissionReview({ request })).toEqual({
      uid: 'u',
      resource: { group: '', version: 'v1', plural: 'pods' },
      subresource: undefined,
      operation: 'CREATE',
      name: undefined,
      namespace: undefined,
      userInfo: { username: 'x' },
      dryRun: false,
      object: { kind: 'Pod' },
      oldObject: undefined,
    })
  })

  test.each<[object, object]>([
    [{ subResource: 'status' }, { subresource: 'status' }],
    [{ subResource: '' }, { subresource: undefined }],
    [
      { subResource: null, name: null, namespace: '' },
      { subresource: undefined, name: undefined, namespace: undefined },
    ],
    [
      { name: 'n', namespace: 'ns' },
      { name: 'n', namespace: 'ns' },
    ],
    [{ dryRun: true }, { dryRun: true }],
    [{ dryRun: null }, { dryRun: false }],
    [{ uid: undefined }, { uid: '' }],
    [
      { object: null, oldObject: {} },
      { object: undefined, oldObject: {} },
    ],
  ])('with %j is read as %j', (given, expected) => {
    expect(readAdmissionReview({ request: { ...request, ...given } })).toMatchObject(expected)
  })

  test.each<[unknown]>([
    [undefined],
    [null],
    [[]],
    ['text'],
    [{}],
    [{ request: [] }],
    [{ request, apiVersion: 'v1' }],
    [{ request, kind: 'ConversionReview' }],
    [{ request: { ...request, resource: 'pods' } }],
    [{ request: { ...request, resource: { group: '', version: 'v1', resource: 1 } } }],
    [{ request: { ...request, userInfo: null } }],
    [{ request: { ...request, operation: undefined } }],
    [{ request: { ...request, object: undefined } }],
    [{ request: { ...request, object: 5 } }],
    [{ request: { ...request, oldObject: 'text' } }],
  ])('that is %j is a bad request', (review) => {
    expect(() => readAdmissionReview(review)).toThrow(WebhookError)
    expect(() => readAdmissionReview(review)).toThrow(expect.objectContaining({ status: 400 }))
  })

  test('is answered with what there is to say, in the version of the question', () => {
    const read = readAdmissionReview({ request })
    const yes = { allowed: true, warnings: [], patch: undefined, status: undefined }
    expect(toAdmissionReview({ request }, read, yes)).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'u', allowed: true },
    })
    const no = { allowed: false, warnings: ['w'], patch: 'cA==', status: { code: 400, message: 'm' } }
    expect(toAdmissionReview({ request, apiVersion: 'admission.k8s.io/v1beta1' }, read, no)).toEqual({
      apiVersion: 'admission.k8s.io/v1beta1',
      kind: 'AdmissionReview',
      response: { uid: 'u', ...no, patchType: 'JSONPatch' },
    })
  })
})

describe('a conversion review', () => {
  const objects = [{ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' } }]
  const conversion = { uid: 'u', desiredAPIVersion: 'example.com/v2', objects }

  test('is known by its kind', () => {
    expect(
      [{ kind: 'ConversionReview' }, { kind: 'AdmissionReview' }, {}, null, 'text'].map(isConversionReview),
    ).toEqual([true, false, false, false, false])
  })

  test('is read', () => {
    expect(readConversionReview({ request: conversion })).toEqual({
      uid: 'u',
      desiredApiVersion: 'example.com/v2',
      objects,
    })
  })

  test.each<[object]>([
    [{ desiredAPIVersion: undefined }],
    [{ objects: {} }],
    [{ objects: [null] }],
    [{ objects: [{ kind: 'Widget' }] }],
    [{ objects: [{ metadata: 'text' }] }],
  ])('with %j is a bad request', (changes) => {
    expect(() => readConversionReview({ request: { ...conversion, ...changes } })).toThrow(WebhookError)
  })

  test('is answered with all, or with the reason', () => {
    const read = readConversionReview({ request: conversion })
    expect(toConversionReview({ apiVersion: 'apiextensions.k8s.io/v1beta1' }, read, objects)).toEqual({
      apiVersion: 'apiextensions.k8s.io/v1beta1',
      kind: 'ConversionReview',
      response: { uid: 'u', result: { status: 'Success' }, convertedObjects: objects },
    })
    expect(toConversionReview({}, read, { failure: 'why' })).toMatchObject({
      apiVersion: 'apiextensions.k8s.io/v1',
      response: { result: { status: 'Failure', message: 'why' } },
    })
  })
})
