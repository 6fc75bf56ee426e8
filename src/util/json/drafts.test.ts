import { expect, test, vi } from 'vitest'
import { pickTouched, toDraft } from './drafts.ts'
import { parseObject } from './lazy-json.ts'

const large = {
  kind: 'Thing',
  metadata: { name: 'a', finalizers: ['x'], annotations: { a: 'x'.repeat(3000) } },
  spec: { list: Array.from({ length: 2000 }, (_, index) => ({ index })) },
  status: { phase: 'Done' },
}

function lazyObject(): typeof large {
  return parseObject(JSON.stringify(large)) as typeof large
}

test('a draft of a small object is a copy, and all of it counts as touched', () => {
  const small = { spec: { a: [1] } }
  const draft = toDraft(small)
  draft.spec.a.push(2)
  expect(small).toEqual({ spec: { a: [1] } })
  expect(pickTouched(small, draft)).toBe(small)
})

test('a draft of a large object equals it, and edits of the draft do not change the object', () => {
  const object = lazyObject()
  const draft = toDraft(object)
  expect(draft).toEqual(large)
  draft.spec.list.pop()
  draft.metadata.annotations.a = 'y'
  Object.assign(draft, { status: undefined })
  expect(object).toEqual(large)
})

test('members of a large object that a draft does not touch are neither parsed nor picked', () => {
  const object = lazyObject()
  const parse = vi.spyOn(JSON, 'parse')
  const draft = toDraft(object)
  draft.metadata.finalizers.push('y')
  draft.status = { phase: 'Again' }
  const { kind, metadata } = large
  expect(pickTouched(object, draft)).toEqual({
    kind,
    metadata: { name: 'a', finalizers: metadata.finalizers },
    status: large.status,
  })
  expect(pickTouched(draft, draft)).toMatchObject({ metadata: { finalizers: ['x', 'y'] }, status: { phase: 'Again' } })
  expect(parse).not.toHaveBeenCalled()
  parse.mockRestore()
})

test('members that were read, written or deleted in a draft are picked from both', () => {
  const object = lazyObject()
  const draft: Partial<typeof large> = toDraft(object)
  delete draft.spec
  draft.metadata!.annotations = { a: 'new' }
  expect(pickTouched(object, draft)).toEqual(large)
  expect(pickTouched(draft, draft)).toEqual({
    ...large,
    spec: undefined,
    metadata: { ...large.metadata, annotations: { a: 'new' } },
  })
})
