import { expect, test } from 'vitest'
import { inOrderOfFields } from './problem-order.ts'

const body = { z: 1, metadata: { y: 1, b: 2 }, a: [{ k: 1 }, { k: 2, l: 3 }] }

test.each([
  [['unknown field "a"', 'unknown field "metadata.b"', 'unknown field "metadata.y"', 'unknown field "z"']],
  [['duplicate field "a[1].k"', 'unknown field "metadata.y"']],
  [['unknown field "a[1].l"', 'unknown field "a[0].k"']],
])('%j are put into the order of the body', (problems) => {
  expect(inOrderOfFields(problems, body)).toEqual(problems.toReversed())
})

test('what is not in the body comes last', () => {
  const problems = ['unknown field "gone"', 'unknown field "z"']
  expect(inOrderOfFields(problems, body)).toEqual(problems.toReversed())
})

test('a body of any depth is gone through', () => {
  let deep: object = {}
  for (let level = 0; level < 10_000; level += 1) deep = { x: deep }
  const problems = ['unknown field "last"', 'unknown field "deep"']
  expect(inOrderOfFields(problems, { deep, last: 1 })).toEqual(problems.toReversed())
})
