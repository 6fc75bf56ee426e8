import { describe, expect, test } from 'vitest'
import type { ObjectOutcome } from '../../operator.ts'
import type { Burst } from './account.ts'
import { createPalette } from './palette.ts'
import { describeKinds, drawBar, drawInterruption, drawListing, drawSummary, drawTable, drawTitle } from './pictures.ts'

const palette = createPalette(false)
const coloured = createPalette(true)

function look(columns: number) {
  return { columns, palette }
}

function burst(
  found: number,
  outcomes: Partial<Record<ObjectOutcome, number>>,
  { tookMs = 10_000 }: { readonly tookMs?: number } = {},
): Burst {
  const counts = new Map(Object.entries(outcomes) as [ObjectOutcome, number][])
  const settled = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return { found, settled, outcomes: counts, tookMs, stillMs: 0 }
}

describe('the title', () => {
  const title = { version: '0.1.0', name: 'my-operator', place: 'https://10.0.0.1:6443', scope: 'namespaces a, b' }

  test('is one line where it fits, to the column', () => {
    const line = 'kopf 0.1.0: my-operator on https://10.0.0.1:6443, namespaces a, b'
    expect(drawTitle(title, look(line.length))).toEqual([line])
    expect(drawTitle(title, look(line.length - 1))).toEqual([
      'kopf 0.1.0: my-operator',
      '  on https://10.0.0.1:6443, namespaces a, b',
    ])
  })

  test('has its first words in bold', () => {
    expect(drawTitle(title, { columns: 200, palette: coloured })).toEqual([
      '\u001b[1mkopf 0.1.0: my-operator\u001b[22m on https://10.0.0.1:6443, namespaces a, b',
    ])
  })
})

describe('what is watched', () => {
  const databases = {
    name: 'databases.v1.example.com',
    kinds: ['create', 'update', 'update', 'timer'],
    objects: 1204,
  }
  const pods = { name: 'pods.v1', kinds: ['index', 'event'], objects: 1 }

  test('is a table with the numbers below each other', () => {
    expect(drawTable([databases, pods, { ...pods, name: 'nodes.v1', objects: undefined }], look(100))).toEqual([
      '  databases.v1.example.com   1,204 objects   create, update ×2, timer',
      '  pods.v1                        1 object    index, event',
      '  nodes.v1                      not listed   index, event',
    ])
  })

  test('has no gap where there is one object of each', () => {
    expect(drawTable([pods], look(100))).toEqual(['  pods.v1   1 object   index, event'])
  })

  test('loses the handlers first where the terminal is narrow, and then the end of its lines', () => {
    expect(drawTable([databases], look(56))).toEqual(['  databases.v1.example.com   1,204 objects   create, up…'])
    expect(drawTable([databases], look(50))).toEqual(['  databases.v1.example.com   1,204 objects'])
    expect(drawTable([databases], look(20))).toEqual(['  databases.v1.exam…'])
  })

  test('has a dozen lines at most, and says how much more there is', () => {
    const many = Array.from({ length: 40 }, (_, number) => ({ ...pods, name: `kind${number}.v1`, objects: 100 }))
    const lines = drawTable(many, look(80))
    expect(lines).toHaveLength(12)
    expect(lines.at(-2)).toContain('kind10.v1')
    expect(lines.at(-1)).toBe('  and 29 more resources with 2,900 objects')
    expect(drawTable(many.slice(0, 12), look(80)).at(-1)).toContain('kind11.v1')
  })

  test('may be nothing', () => {
    expect(drawTable([], look(80))).toEqual(['  Nothing is watched yet.'])
  })

  test('kinds are in the order of their first handlers', () => {
    expect(describeKinds(['timer', 'create', 'timer', 'timer'])).toBe('timer ×3, create')
    expect(describeKinds([])).toBe('')
  })
})

describe('the bar', () => {
  test.each([
    [burst(1200, {}, { tookMs: 1500 }), '▕                              ▏ 0 of 1,200 handled'],
    [burst(1200, { created: 300 }, { tookMs: 1500 }), '▕███████▌                      ▏ 300 of 1,200 handled'],
    [burst(1200, { created: 600 }), '▕███████████████               ▏ 600 of 1,200 handled, 10 s left'],
    [
      burst(1200, { created: 590, retrying: 9, failed: 1 }),
      '▕███████████████               ▏ 600 of 1,200 handled, 9 to be retried, 1 failed, 10 s left',
    ],
    [burst(40, { created: 40 }), '▕██████████████████████████████▏ 40 of 40 handled, 0.0 s left'],
  ])('%# is as full as the work is done', (one, expected) => {
    expect(drawBar(one, look(120))).toBe(expected)
  })

  test('gives way to the numbers, and says less where it is narrow', () => {
    const one = burst(1200, { created: 590, retrying: 9, failed: 1 })
    expect(drawBar(one, look(60))).toBe('▕███████████▌           ▏ 600 of 1,200 handled, 10 s left')
    expect(drawBar(one, look(40))).toBe('▕███████       ▏ 600 of 1,200 handled')
    expect(drawBar(one, look(23))).toBe('600 of 1,200 handled')
    expect(drawBar(one, look(10))).toBe('600 of…')
  })

  test('is never as wide as the terminal: there is room for what that shows of Ctrl-C', () => {
    const trouble = burst(123_456, { created: 99_999, retrying: 1234, failed: 5 }, { tookMs: 3_700_000 })
    for (let columns = 3; columns < 150; columns += 1) {
      expect(drawBar(trouble, look(columns)).length, `${columns} columns`).toBeLessThanOrEqual(columns - 3)
      expect(drawListing({ watched: [], burst: trouble }, look(columns)).length).toBeLessThanOrEqual(columns - 3)
    }
  })

  test('has colour in it, and not around it', () => {
    expect(drawBar(burst(40, { created: 20 }), { columns: 80, palette: coloured })).toBe(
      '▕\u001b[32m███████████████               \u001b[39m▏ 20 of 40 handled, 10 s left',
    )
  })
})

test('while objects are still to come, it says how many have', () => {
  const watched = [
    { name: 'a', kinds: [], objects: 5 },
    { name: 'b', kinds: [], objects: undefined },
  ]
  const none = burst(1, {})
  expect(drawListing({ watched, burst: none }, look(80))).toBe('Listing what is there: 1 of 2 resources, 1 object')
  expect(drawListing({ watched, burst: burst(12_000, { created: 500 }) }, look(80))).toBe(
    'Listing what is there: 1 of 2 resources, 12,000 objects, 500 handled',
  )
})

describe('the summary', () => {
  test.each([
    [burst(1, { created: 1 }, { tookMs: 240 }), 'Caught up with 1 object in 0.2 s: 1 created.'],
    [
      burst(1210, { unchanged: 200, created: 1000, retrying: 3, failed: 1, skipped: 4, left: 2 }, { tookMs: 125_000 }),
      'Caught up with 1,210 objects in 2 min 5 s: 1,000 created, 200 unchanged, 4 left alone, 2 let go, 3 to be retried, 1 failed.',
    ],
    [
      burst(6, { updated: 1, resumed: 1, deleted: 1, reconciled: 1, watched: 1 }),
      'Caught up with 5 objects in 10 s: 1 updated, 1 resumed, 1 deleted, 1 reconciled, 1 watched, 1 still under way.',
    ],
  ])('%# has every outcome that there was', (one, expected) => {
    expect(drawSummary(one, palette)).toBe(expected)
  })

  test.each([
    [{ created: 1 } as const, 32],
    [{ created: 1, retrying: 1 } as const, 33],
    [{ retrying: 1, failed: 1 } as const, 31],
  ])('of %o has the colour of the worst of them', (outcomes, colour) => {
    expect(drawSummary(burst(2, outcomes), coloured)).toMatch(
      new RegExp(`^\\u001b\\[${colour}mCaught .*\\u001b\\[39m$`),
    )
  })
})

test('whoever stops it in the middle is told how far it was', () => {
  expect(drawInterruption(burst(1204, { created: 500 }), palette)).toBe(
    'Stopped after 500 of 1,204 objects: the rest is for the next start.',
  )
})
