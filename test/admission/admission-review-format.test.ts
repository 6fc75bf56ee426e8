import { ABSENT, Operator } from 'kopf'
import { describe, expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { useLab } from '../support/lab.ts'
import { Door, editsOf, refusalOf, reviewOf, widget } from './admission-support.ts'

const lab = useLab()

/** Starts an operator with two handlers that add their own id as a warning. */
function startChecks(): Promise<Door> {
  const kopf = new Operator()
  kopf.on.validate(lab.widgets, { id: 'check', labels: { app: ABSENT } }, ({ warnings }) => void warnings.push('check'))
  kopf.on.validate(
    lab.widgets,
    { id: 'note', annotations: { a: ABSENT } },
    ({ warnings }) => void warnings.push('note'),
  )
  return startWith(kopf)
}

async function startWith(kopf: Operator): Promise<Door> {
  const door = new Door(lab, kopf)
  await lab.start(kopf)
  return door
}

describe('admission reviews', () => {
  test.each([
    ['admission.k8s.io/v1', 'AdmissionReview'],
    ['admission.k8s.io/v1beta1', 'AdmissionReview'],
  ])('an admission review of %s is answered in the same version', async (apiVersion, kind) => {
    const door = await startChecks()
    const answer = await door.post({ ...reviewOf(lab), apiVersion, kind })
    expect(answer).toMatchObject({ apiVersion, kind, response: { uid: 'review-uid', allowed: true } })
  })

  const request = (changes: Tree) => (review: Tree) => ({
    ...review,
    request: { ...(review['request'] as Tree), ...changes },
  })
  test.each<[string, (review: Tree) => unknown, string]>([
    ['that is a text', () => 'text', 'it is no JSON object'],
    ['that is null', () => null, 'it is no JSON object'],
    ['that is a list', () => [], 'it is no JSON object'],
    ['that is an empty object', () => ({}), 'its "request" is missing'],
    ['of an unknown version', (review) => ({ ...review, apiVersion: 'admission.k8s.io/v2' }), 'admission.k8s.io/v2'],
    ['of another kind', (review) => ({ ...review, kind: 'Pod' }), 'it is Pod of admission.k8s.io/v1'],
    ['without a request', (review) => ({ ...review, request: null }), 'its "request" is missing'],
    ['without a resource', request({ resource: undefined }), 'its "request.resource" is missing'],
    ['with an incomplete resource', request({ resource: { group: '' } }), 'has no "group", "version" and "resource"'],
    ['without a user', request({ userInfo: undefined }), 'its "request.userInfo" is missing'],
    ['without an operation', request({ operation: 1 }), 'its "request.operation" is missing'],
    ['without any object', request({ object: null }), 'it has neither "request.object" nor "request.oldObject"'],
    ['with a text as its object', request({ object: 'text' }), 'its "request.object" is no JSON object'],
    ['with a list as its old object', request({ oldObject: [] }), 'its "request.oldObject" is no JSON object'],
  ])('an admission review %s is answered with 400', async (_name, change, words) => {
    const door = await startChecks()
    const { status, message } = await refusalOf(door.post(change(reviewOf(lab))))
    expect(status).toBe(400)
    expect(message).toMatch(/^Cannot take the review: /)
    expect(message).toContain(words)
  })

  test.each<[string, Tree]>([
    ['no metadata', { metadata: null }],
    ['a text as metadata', { metadata: 'text' }],
    ['a number as labels', { metadata: { labels: 5, annotations: [] } }],
    ['keys such as __proto__', JSON.parse('{"__proto__": {"polluted": 1}, "metadata": {"__proto__": {"name": "x"}}}')],
  ])('an admission review of an object with %s is answered', async (_name, fields) => {
    const door = await startChecks()
    const object = { apiVersion: `${lab.group}/v1`, kind: 'Widget', ...fields }
    expect(await door.ask({ object })).toMatchObject({ allowed: true, warnings: ['check', 'note'] })
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})

describe('deep objects', () => {
  const deep = (end: string) => JSON.parse(`${'{"a":'.repeat(9000)}${end}${'}'.repeat(9000)}`) as Tree

  test('objects as deep as the API server accepts can be diffed and patched in admission handlers', async () => {
    const kopf = new Operator()
    const lengths: number[] = []
    kopf.on.mutate(lab.widgets, ({ diff, patch }) => {
      lengths.push(diff.length)
      patch.spec = deep('2')
      patch.fns.push((body) => {
        body.spec['added'] = true
      })
    })
    const door = await startWith(kopf)
    const [object, oldObject] = [widget(lab, { spec: deep('1') }), widget(lab, { spec: deep('0') })]
    const answer = await door.ask({ operation: 'UPDATE', object, oldObject })
    expect(answer.status).toBeUndefined()
    expect(lengths).toEqual([1])
    expect(editsOf(answer).map(({ op, path }) => [op, String(path).length])).toEqual([
      ['add', '/spec/added'.length],
      ['replace', '/spec'.length + 9000 * 2],
    ])
  })
})
