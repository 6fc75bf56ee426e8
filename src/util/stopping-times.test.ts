import { expect, test } from 'vitest'
import { handlersSeconds, lastReviewsSeconds, lastStepsSeconds, podGraceSeconds } from './stopping-times.ts'

test('the steps of a stop fit into the grace period that Kubernetes grants a pod by default', () => {
  expect(handlersSeconds + lastStepsSeconds).toBe(podGraceSeconds)
  expect([handlersSeconds, lastStepsSeconds, lastReviewsSeconds, podGraceSeconds]).toEqual([15, 15, 20, 30])
})
