import { describe, expect, test } from 'vitest'
import {
  type ConversionReviewInput,
  chooseReviewVersion,
  type ReviewVersion,
  readReview,
  toReview,
} from './conversion-review.ts'

const question = (version: ReviewVersion = 'v1'): ConversionReviewInput => ({
  version,
  uid: 'u-1',
  desiredAPIVersion: 'example.com/v2',
  objects: [],
})

const response = { uid: 'u-1', convertedObjects: [1, 2], result: { status: 'Success' } }
const answer = (more: object = {}, version = 'v1') => ({
  apiVersion: `apiextensions.k8s.io/${version}`,
  kind: 'ConversionReview',
  response: { ...response, ...more },
})

describe('the version of a review', () => {
  test.each([
    [['v1'], 'v1'],
    [['v1', 'v1beta1'], 'v1'],
    [['v1beta1', 'v1'], 'v1beta1'],
    [['v3', 'v1beta1'], 'v1beta1'],
  ])('of %j is %s', (versions, chosen) => {
    expect(chooseReviewVersion(versions)).toBe(chosen)
  })

  test('is said in it', () => {
    expect(toReview(question('v1beta1'))).toEqual({
      kind: 'ConversionReview',
      apiVersion: 'apiextensions.k8s.io/v1beta1',
      request: { uid: 'u-1', desiredAPIVersion: 'example.com/v2', objects: [] },
      response: { uid: '', convertedObjects: null, result: { metadata: {} } },
    })
  })
})

describe('an answer', () => {
  test('has the objects as they came', () => {
    expect(readReview(answer(), question())).toEqual([1, 2])
    expect(readReview(answer({ convertedObjects: null }), question())).toEqual([])
  })

  test('in v1beta1 needs neither type nor uid', () => {
    expect(readReview({ response: { ...response, uid: 'other' } }, question('v1beta1'))).toEqual([1, 2])
    expect(() => readReview({}, question('v1beta1'))).toThrow('no response provided')
    expect(() => readReview(answer({}, 'v1'), question('v1beta1'))).toThrow(
      'converting (v1.ConversionReview) to (v1beta1.ConversionReview): unknown conversion',
    )
  })

  test.each([
    ['null', null, 'got /, Kind='],
    ['a number', 5, 'cannot unmarshal number into Go value'],
    ['true', true, 'cannot unmarshal bool into Go value'],
    ['one without an apiVersion', { kind: 'ConversionReview' }, 'got /, Kind=ConversionReview'],
    ['one of another group', { ...answer(), apiVersion: 'example.com/v1' }, 'no kind "ConversionReview" is registered'],
    ['one with another uid', answer({ uid: 'U-1' }), 'expected response.uid="u-1", got "U-1"'],
    ['one with a list for a response', { ...answer(), response: [] }, 'cannot unmarshal array into Go struct field'],
    ['one that failed in silence', answer({ result: {} }), "response.result.status was '', not 'Success'"],
    ['one that failed with reason', answer({ result: { message: 'no' } }), 'no'],
    ['one that succeeded in lower case', answer({ result: { status: 'success' } }), "was 'success', not"],
  ])('that is %s is none', (_, given, words) => {
    expect(() => readReview(given, question())).toThrow(words)
  })
})
