import { describe, expect, test } from 'vitest'
import { settle } from '../../test/support/manual-clock.ts'
import { KeyedQueue, type KeyedQueueOptions } from './keyed-queue.ts'

/** A queue whose workers end only when the test calls `finish`. */
function setUp(options: Partial<KeyedQueueOptions<string, string>> = {}) {
  const log: string[] = []
  const gates = new Map<string, () => void>()
  const queue = new KeyedQueue<string, string>(
    async (key, events) => {
      log.push(`${key}: ${events.join(' ')}`)
      await new Promise<void>((resolve) => gates.set(key, resolve))
    },
    { limit: () => 2, ...options },
  )
  const finish = async (key: string) => {
    gates.get(key)?.()
    await settle()
  }
  return { queue, log, finish }
}

describe('keyed queue', () => {
  test('the keyed queue works on a key once at a time, with all events since then in order', async () => {
    const { queue, log, finish } = setUp()
    queue.put('a', '1')
    queue.put('a', '2')
    queue.put('a', '3')
    expect(queue.hasNewEvents('a')).toBe(true)
    await finish('a')
    expect(log).toEqual(['a: 1', 'a: 2 3'])
    await finish('a')
    expect(queue.size).toBe(0)
    queue.put('a', '4')
    expect(log).toEqual(['a: 1', 'a: 2 3', 'a: 4'])
  })

  test('the keyed queue works on several keys in parallel, up to the limit', async () => {
    const { queue, log, finish } = setUp()
    for (const key of ['a', 'b', 'c']) queue.put(key, '1')
    expect(log).toEqual(['a: 1', 'b: 1'])
    await finish('b')
    expect(log).toEqual(['a: 1', 'b: 1', 'c: 1'])
  })

  test('the keyed queue starts nothing while the limit is 0, and starts what it can when the limit is checked again', async () => {
    let limit = 0
    const { queue, log, finish } = setUp({ limit: () => limit })
    for (const key of ['a', 'b', 'c']) queue.put(key, '1', 'backlog')
    queue.put('a', '2')
    expect(log).toEqual([])
    limit = 2
    queue.recheckLimit()
    queue.recheckLimit()
    expect(log).toEqual(['a: 1 2', 'b: 1'])
    await finish('a')
    expect(log).toEqual(['a: 1 2', 'b: 1', 'c: 1'])
  })

  test('the keyed queue discards waiting events, except those that must stay', async () => {
    const { queue, log, finish } = setUp({ limit: () => 1, now: () => 7 })
    queue.put('a', 'old')
    queue.put('a', 'new')
    queue.put('b', 'old')
    queue.put('b', 'end')
    queue.put('c', 'old')
    queue.put('d', 'old', 'backlog')
    queue.discard((event) => event !== 'end')
    expect(queue.size).toBe(2)
    expect(queue.waiting).toBe(1)
    await finish('a')
    await finish('b')
    expect(log).toEqual(['a: old', 'b: end'])
    await queue.idle()
    queue.put('c', 'again')
    expect(log.at(-1)).toBe('c: again')
  })

  test('the keyed queue can be closed while the limit is 0', async () => {
    const { queue } = setUp({ limit: () => 0 })
    queue.put('a', '1')
    queue.close()
    await queue.idle()
    expect(queue.size).toBe(0)
  })

  test('the keyed queue prefers current events to the initial listing', async () => {
    const { queue, log, finish } = setUp({ limit: () => 1 })
    for (const key of ['a', 'b', 'c']) queue.put(key, 'listed', 'backlog')
    queue.put('d', 'now')
    queue.put('c', 'now')
    for (const key of ['a', 'd', 'c', 'b']) await finish(key)
    expect(log).toEqual(['a: listed', 'd: now', 'c: listed now', 'b: listed'])
  })

  test('the keyed queue does not starve the backlog', async () => {
    const { queue, log, finish } = setUp({ limit: () => 1 })
    queue.put('first', '1')
    queue.put('old', '1', 'backlog')
    for (let index = 0; index < 40; index += 1) queue.put(`new${index}`, '1')
    await finish('first')
    for (let index = 0; index < 20; index += 1) await finish(log.at(-1)!.split(':')[0]!)
    expect(log).toContain('old: 1')
  })

  test('the keyed queue gives the worker slot of a slow key to another key, and still has one worker per key', async () => {
    const { queue, log, finish } = setUp({ limit: () => 1 })
    queue.put('endless', '1')
    queue.put('a', '1')
    queue.markSlow('endless')
    queue.markSlow('endless')
    expect(log).toEqual(['endless: 1', 'a: 1'])
    queue.put('endless', '2')
    await finish('a')
    expect(log).toEqual(['endless: 1', 'a: 1'])
    await finish('endless')
    expect(log).toEqual(['endless: 1', 'a: 1', 'endless: 2'])
  })

  test('the keyed queue keeps only the latest of events that supersede each other', async () => {
    const { queue, log, finish } = setUp({ supersedes: (next, waiting) => next[0] === waiting[0] })
    queue.put('a', 'x1')
    for (const event of ['x2', 'x3', 'y1', 'y2', 'x4']) queue.put('a', event)
    await finish('a')
    expect(log).toEqual(['a: x1', 'a: x3 y2 x4'])
  })

  test('the keyed queue is bounded per key, and drops the oldest dispensable event first', async () => {
    const { queue, log, finish } = setUp({ capacity: 3, isDispensable: (event) => event !== 'keep' })
    queue.put('a', '0')
    for (const event of ['keep', '1', '2', '3', '4']) queue.put('a', event)
    await finish('a')
    expect(log).toEqual(['a: 0', 'a: keep 3 4'])
  })

  test('the closed keyed queue drops waiting events and lets running workers finish', async () => {
    const { queue, log, finish } = setUp({ limit: () => 1 })
    queue.put('a', '1')
    queue.put('a', '2')
    queue.put('b', '1')
    queue.close()
    queue.put('c', '1')
    let isIdle = false
    void queue.idle().then(() => (isIdle = true))
    await settle()
    expect(isIdle).toBe(false)
    await finish('a')
    expect(isIdle).toBe(true)
    expect(log).toEqual(['a: 1'])
  })

  test('the keyed queue drops the waiting events of a key, but not its running worker', async () => {
    const { queue, log, finish } = setUp({ limit: () => 1 })
    for (const key of ['a', 'b', 'c']) queue.put(key, '1', key === 'c' ? 'backlog' : 'now')
    for (const key of ['a', 'b', 'c', 'never seen']) queue.drop(key)
    expect([queue.size, queue.waiting, queue.waitingSinceMs]).toEqual([1, 0, undefined])
    queue.put('a', '2')
    await finish('a')
    await finish('a')
    await queue.idle()
    expect(log).toEqual(['a: 1', 'a: 2'])
  })

  test('the keyed queue reports how many keys wait for a worker, and how long the first of them has waited', async () => {
    let nowMs = 0
    const { queue, finish } = setUp({ limit: () => 1, now: () => nowMs })
    for (const key of ['a', 'b', 'c']) {
      nowMs += 10
      queue.put(key, '1', 'backlog')
    }
    expect([queue.waiting, queue.waitingSinceMs]).toEqual([2, 20])
    // Neither new events nor a higher priority restart the waiting time.
    queue.put('c', '2', 'now')
    expect([queue.waiting, queue.waitingSinceMs]).toEqual([2, 20])
    await finish('a')
    expect([queue.waiting, queue.waitingSinceMs]).toEqual([1, 20])
    await finish('c')
    expect([queue.waiting, queue.waitingSinceMs]).toEqual([0, undefined])
    queue.put('d', '1')
    queue.close()
    expect([queue.waiting, queue.waitingSinceMs]).toEqual([0, undefined])
  })
})

describe('the reports of waiting work', () => {
  function createReported(limit: () => number) {
    const reports: string[] = []
    const gates: Array<() => void> = []
    const queue = new KeyedQueue<string, number>(
      (key, events, { priority, sinceMs }) => {
        reports.push(`work ${key} ${events.join('+')} ${priority} since ${sinceMs}`)
        return new Promise<void>((resolve) => gates.push(resolve))
      },
      {
        limit,
        now: () => reports.length,
        onWait: (key, event, priority) => reports.push(`wait ${key} ${event} ${priority}`),
        onDrop: (key, priority) => reports.push(`drop ${key} ${priority}`),
      },
    )
    return { queue, reports, gates }
  }

  test('a key is reported once per batch of events, also while it is processed', async () => {
    const { queue, reports, gates } = createReported(() => 1)
    queue.put('a', 1, 'backlog')
    queue.put('a', 2)
    queue.put('a', 3)
    gates[0]!()
    await Promise.resolve()
    expect(reports).toEqual(['wait a 1 backlog', 'work a 1 backlog since 0', 'wait a 2 now', 'work a 2+3 now since 2'])
  })

  test('dropped, discarded and closed keys are reported with the priority of their first event', () => {
    const { queue, reports } = createReported(() => 0)
    queue.put('a', 1, 'backlog')
    queue.put('a', 2)
    queue.put('b', 1)
    queue.put('c', 1)
    queue.drop('a')
    queue.discard(
      () => true,
      (key) => key === 'b',
    )
    queue.close()
    expect(reports.filter((report) => report.startsWith('drop'))).toEqual([
      'drop a backlog',
      'drop b now',
      'drop c now',
    ])
  })
})
