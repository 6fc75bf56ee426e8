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

describe('admission reviews', () => {
  test('an admission review is read with defaults for missing fields', () => {
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
  ])('an admission review with %j is read as %j', (given, expected) => {
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
  ])('the admission review %j is a bad request', (review) => {
    expect(() => readAdmissionReview(review)).toThrow(WebhookError)
    expect(() => readAdmissionReview(review)).toThrow(expect.objectContaining({ status: 400 }))
  })

  test('an admission review is answered in the version of the request, without empty fields', () => {
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

describe('conversion reviews', () => {
  const objects = [{ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' } }]
  const conversion = { uid: 'u', desiredAPIVersion: 'example.com/v2', objects }

  test('a conversion review is recognized by its kind', () => {
    expect(
      [{ kind: 'ConversionReview' }, { kind: 'AdmissionReview' }, {}, null, 'text'].map(isConversionReview),
    ).toEqual([true, false, false, false, false])
  })

  test('a conversion review is read with its uid, version and objects', () => {
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
  ])('a conversion review with %j is a bad request', (changes) => {
    expect(() => readConversionReview({ request: { ...conversion, ...changes } })).toThrow(WebhookError)
  })

  test('a conversion review is answered with all objects, or with the failure', () => {
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
