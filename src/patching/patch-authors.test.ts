import { expect, test } from 'vitest'
import { ApiError } from '../client/api-error.ts'
import { addAuthor, explainRefusal, findOrigin, type PatchAuthors } from './patch-authors.ts'

function authorsOf(...parts: ReadonlyArray<readonly [string, object, string?]>): PatchAuthors {
  const authors: PatchAuthors = new Map()
  for (const [id, merge, more = ''] of parts) {
    addAuthor(authors, id, { merge: merge as never, hasFunctions: more === 'fns', hasResult: more === 'result' })
  }
  return authors
}

const authors = authorsOf(
  ['a', { status: { phase: 'x', list: [1], a: { size: 1 } } }, 'result'],
  ['b', { status: { phase: 'y' }, metadata: { labels: { 'example.com/x': 'no' } } }, 'result'],
  ['c', {}],
  ['d/spec.size', { spec: { n: 1 }, status: { 'd/spec.size': 1 } }, 'result'],
)

test.each([
  ['status.phase', 'b merge'],
  ['status.list[0].name', 'a merge'],
  ['status.a.size', 'a result'],
  ['status.d/spec.size', 'd/spec.size result'],
  ['metadata', 'b merge'],
  ['metadata.labels[example.com/x]', 'b merge'],
  ['metadata.labels', 'b merge'],
  ['metadata.labels.example.com/x', 'b merge'],
  ['status.phases', undefined],
  ['spec.m', undefined],
])('the origin of the field %s is %s', (field, expected) => {
  const origin = findOrigin(authors, field)
  expect(origin && `${origin.id} ${origin.type}`).toBe(expected)
})

test('a field that no merge patch sets may come from a function, and the last change of a handler counts', () => {
  const some = authorsOf(['a', { status: { x: 1 } }, 'fns'], ['b', { status: { x: 2 } }], ['a', { status: { x: 3 } }])
  expect(findOrigin(some, 'status.x')).toEqual({ id: 'a', type: 'merge' })
  expect(findOrigin(some, 'spec.y')).toEqual({ id: 'a', type: 'function' })
})

test('the parts of a handler are not changed by later parts of it', () => {
  const part = { status: { x: 1 } }
  authorsOf(['a', part], ['a', { status: { y: 1 } }])
  expect(part).toEqual({ status: { x: 1 } })
})

test('the message about a refused write has at most five fields, each of a limited length', () => {
  const causes = Array.from({ length: 2000 }, (_, n) => ({ field: `status.f${n % 1000}`, message: 'm'.repeat(10_000) }))
  const refused = new ApiError({ method: 'PATCH', path: '/x', status: 422, reason: 'Invalid', details: { causes } })
  const { message, status } = explainRefusal(refused, 'the status of default/x', new Map())
  expect(message).toMatch(
    /^Cannot write the status of default\/x: the API server refuses it \(422 Invalid\): status\.f0: m+….*; and 995 more$/,
  )
  expect([status, message.length < 3000]).toEqual([422, true])
})

test('an error that names no field stays as it is', () => {
  const refused = new ApiError({ method: 'PATCH', path: '/x', status: 422, message: 'not so' })
  expect(explainRefusal(refused, 'x', authors)).toBe(refused)
})
