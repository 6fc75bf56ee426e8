import { expect, test } from 'vitest'
import type { Resource } from '../kube/resources/resources.ts'
import type { ReviewedResource, ReviewedUser } from '../serving/access-reviews.ts'
import { ReviewedViewer } from './viewer.ts'

const user: ReviewedUser = { name: 'ann', uid: undefined, groups: [], extra: {} }
const widgets = { group: 'example.com', version: 'v1', plural: 'widgets', namespaced: true } as Resource

/** A viewer who may do what the function says, and the questions that the API server was asked. */
function viewerWith(isAllowed: (asked: ReviewedResource) => boolean) {
  const asked: ReviewedResource[] = []
  let nowMs = 0
  const answer = async (attributes: ReviewedResource) => {
    asked.push(attributes)
    return isAllowed(attributes)
  }
  const clock = { now: () => nowMs, sleep: async () => {} }
  const viewer = new ReviewedViewer(user, {
    reviews: { isAllowed: (_, attributes) => answer(attributes as ReviewedResource) },
    clock,
  })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { viewer, asked, pass }
}

test('a user who may list all namespaces is asked for once', async () => {
  const { viewer, asked } = viewerWith(() => true)
  for (let time = 0; time < 3; time += 1) expect(await viewer.scopeOf(widgets, () => ['a', 'b'])).toBe('all')
  expect(asked).toHaveLength(1)
})

test('a user who may list single namespaces sees those, also one that the operator gets to know later', async () => {
  const { viewer, asked } = viewerWith(({ namespace }) => namespace === 'a' || namespace === 'late')
  expect(await viewer.scopeOf(widgets, () => [])).toEqual(new Set())
  expect(await viewer.scopeOf(widgets, () => ['a', 'b'])).toEqual(new Set(['a']))
  expect(await viewer.scopeOf(widgets, () => ['a', 'b', 'late'])).toEqual(new Set(['a', 'late']))
  expect(asked.map(({ namespace }) => namespace)).toEqual([undefined, 'a', 'b', 'late'])
})

test('a permission that is revoked ends after half a minute', async () => {
  let isAllowed = true
  const { viewer, pass } = viewerWith(({ namespace }) => isAllowed && namespace === 'a')
  expect(await viewer.scopeOf(widgets, () => ['a'])).toEqual(new Set(['a']))
  isAllowed = false
  pass(30_000)
  expect(await viewer.scopeOf(widgets, () => ['a'])).toEqual(new Set())
})

test('a user is asked for at most a hundred namespaces of a resource', async () => {
  const { viewer, asked } = viewerWith(({ namespace }) => namespace !== undefined)
  const names = Array.from({ length: 1000 }, (_, index) => `n${index}`)
  expect(((await viewer.scopeOf(widgets, () => names)) as ReadonlySet<string>).size).toBe(100)
  expect(asked).toHaveLength(101)
})

test('a cluster-scoped resource is not asked for by namespace', async () => {
  const { viewer, asked } = viewerWith(() => false)
  expect(await viewer.scopeOf({ ...widgets, namespaced: false }, () => ['a'])).toEqual(new Set())
  expect(asked).toHaveLength(1)
})

test('without an answer of the API server, nothing is in the scope, and it is asked again', async () => {
  let isUp = false
  const { viewer } = viewerWith(() => {
    if (!isUp) throw new Error('down')
    return true
  })
  await expect(viewer.scopeOf(widgets, () => [])).rejects.toThrow('down')
  isUp = true
  expect(await viewer.scopeOf(widgets, () => [])).toBe('all')
})
