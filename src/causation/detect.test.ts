import { expect, test } from 'vitest'
import type { Diff, Essence } from './cause.ts'
import { detectReason } from './detect.ts'
import { createDiffItem } from './diff-item.ts'

const changed: Diff = [createDiffItem('add', ['spec'], undefined, {})]
const stored: Essence = {}

const all = {
  eventTypes: [null, 'ADDED', 'MODIFIED', 'DELETED'],
  flags: [true, false],
  olds: [undefined, stored],
  diffs: [[], changed],
}
const matrix = all.eventTypes.flatMap((eventType) =>
  all.flags.flatMap((deleting) =>
    all.flags.flatMap((blocked) =>
      all.olds.flatMap((old) =>
        all.diffs.flatMap((diff) => all.flags.map((initial) => ({ eventType, deleting, blocked, old, diff, initial }))),
      ),
    ),
  ),
)

test.each(matrix)(
  'the reason is detected for type $eventType, deleting $deleting, blocked $blocked, old $old, diff $diff, initial $initial',
  (given) => {
    const { reason, initial } = detectReason(given)
    // The code maps conditions to a reason; the test states the exact condition of each reason.
    const isGone = given.eventType === 'DELETED'
    const isLiving = !isGone && !given.deleting
    const expected = {
      gone: isGone,
      free: !isGone && given.deleting && !given.blocked,
      delete: !isGone && given.deleting && given.blocked,
      create: isLiving && given.old === undefined,
      update: isLiving && given.old !== undefined && given.diff.length > 0,
      resume: isLiving && given.old !== undefined && given.diff.length === 0 && given.initial,
      noop: isLiving && given.old !== undefined && given.diff.length === 0 && !given.initial,
    }
    expect(Object.entries(expected).filter(([, is]) => is)).toEqual([[reason, true]])
    expect(initial).toBe(reason === 'create' ? false : given.initial)
  },
)
