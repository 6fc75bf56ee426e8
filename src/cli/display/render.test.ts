import { describe, expect, test } from 'vitest'
import type { ObjectOutcome } from '../../observer.ts'
import { createPalette } from './colours.ts'
import type { ChangeBurst } from './progress-model.ts'
import { describeTypes, drawBar, drawInterruption, drawListing, drawSummary, drawTable, drawTitle } from './render.ts'

const palette = createPalette(false)
const coloured = createPalette(true)

function look(columns: number) {
  return { columns, palette }
}

function burst(
  found: number,
  outcomes: Partial<Record<ObjectOutcome, number>>,
  { tookMs = 10_000 }: { readonly tookMs?: number } = {},
): ChangeBurst {
  const counts = new Map(Object.entries(outcomes) as [ObjectOutcome, number][])
  const settled = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return { found, settled, outcomes: counts, tookMs, sinceLastMs: 0 }
}

describe('title', () => {
  const title = { version: '0.1.0', name: 'my-operator', place: 'https://10.0.0.1:6443', scope: 'namespaces a, b' }

  test('the title takes one line if it fits the columns exactly, and two lines otherwise', () => {
    const line = 'kopf 0.1.0: my-operator on https://10.0.0.1:6443, namespaces a, b'
    expect(drawTitle(title, look(line.length))).toEqual([line])
    expect(drawTitle(title, look(line.length - 1))).toEqual([
      'kopf 0.1.0: my-operator',
      '  on https://10.0.0.1:6443, namespaces a, b',
    ])
  })

  test('the title has its first words in bold', () => {
    expect(drawTitle(title, { columns: 200, palette: coloured })).toEqual([
      '\u001b[1mkopf 0.1.0: my-operator\u001b[22m on https://10.0.0.1:6443, namespaces a, b',
    ])
  })
})

describe('table of watched resources', () => {
  const databases = {
    name: 'databases.v1.example.com',
    handlerTypes: ['create', 'update', 'update', 'timer'],
    objects: 1204,
  }
  const pods = { name: 'pods.v1', handlerTypes: ['index', 'event'], objects: 1 }

  test('the table of watched resources aligns the numbers of objects', () => {
    expect(drawTable([databases, pods, { ...pods, name: 'nodes.v1', objects: undefined }], look(100))).toEqual([
      '  databases.v1.example.com   1,204 objects   create, update ×2, timer',
      '  pods.v1                        1 object    index, event',
      '  nodes.v1                      not listed   index, event',
    ])
  })

  test('the table of watched resources has no padding if every resource has one object', () => {
    expect(drawTable([pods], look(100))).toEqual(['  pods.v1   1 object   index, event'])
  })

  test('the table of watched resources drops the handlers first on a narrow terminal, then cuts its lines', () => {
    expect(drawTable([databases], look(56))).toEqual(['  databases.v1.example.com   1,204 objects   create, up…'])
    expect(drawTable([databases], look(50))).toEqual(['  databases.v1.example.com   1,204 objects'])
    expect(drawTable([databases], look(20))).toEqual(['  databases.v1.exam…'])
  })

  test('the table of watched resources has at most twelve lines and says how many more there are', () => {
    const many = Array.from({ length: 40 }, (_, number) => ({ ...pods, name: `kind${number}.v1`, objects: 100 }))
    const lines = drawTable(many, look(80))
    expect(lines).toHaveLength(12)
    expect(lines.at(-2)).toContain('kind10.v1')
    expect(lines.at(-1)).toBe('  and 29 more resources with 2,900 objects')
    expect(drawTable(many.slice(0, 12), look(80)).at(-1)).toContain('kind11.v1')
  })

  test('the table of watched resources says so if nothing is watched', () => {
    expect(drawTable([], look(80))).toEqual(['  Nothing is watched yet.'])
  })

  test('the handler types of a watched resource are listed in the order of their first handlers', () => {
    expect(describeTypes(['timer', 'create', 'timer', 'timer'])).toBe('timer ×3, create')
    expect(describeTypes([])).toBe('')
  })
})

describe('progress bar', () => {
  test.each([
    [burst(1200, {}, { tookMs: 1500 }), '▕                              ▏ 0 of 1,200 handled'],
    [burst(1200, { created: 300 }, { tookMs: 1500 }), '▕███████▌                      ▏ 300 of 1,200 handled'],
    [burst(1200, { created: 600 }), '▕███████████████               ▏ 600 of 1,200 handled, 10 s left'],
    [
      burst(1200, { created: 590, retrying: 9, failed: 1 }),
      '▕███████████████               ▏ 600 of 1,200 handled, 9 to be retried, 1 failed, 10 s left',
    ],
    [burst(40, { created: 40 }), '▕██████████████████████████████▏ 40 of 40 handled, 0.0 s left'],
  ])('progress bar %# is filled by the share of handled objects', (one, expected) => {
    expect(drawBar(one, look(120))).toBe(expected)
  })

  test('the progress bar shrinks in favour of its numbers, and drops words on a narrow terminal', () => {
    const one = burst(1200, { created: 590, retrying: 9, failed: 1 })
    expect(drawBar(one, look(60))).toBe('▕███████████▌           ▏ 600 of 1,200 handled, 10 s left')
    expect(drawBar(one, look(40))).toBe('▕███████       ▏ 600 of 1,200 handled')
    expect(drawBar(one, look(23))).toBe('600 of 1,200 handled')
    expect(drawBar(one, look(10))).toBe('600 of…')
  })

  test('the progress bar leaves at least three columns free for the ^C that the terminal echoes', () => {
    const trouble = burst(123_456, { created: 99_999, retrying: 1234, failed: 5 }, { tookMs: 3_700_000 })
    for (let columns = 3; columns < 150; columns += 1) {
      expect(drawBar(trouble, look(columns)).length, `${columns} columns`).toBeLessThanOrEqual(columns - 3)
      expect(drawListing({ watched: [], burst: trouble }, look(columns)).length).toBeLessThanOrEqual(columns - 3)
    }
  })

  test('the progress bar has colour inside its borders only', () => {
    expect(drawBar(burst(40, { created: 20 }), { columns: 80, palette: coloured })).toBe(
      '▕\u001b[32m███████████████               \u001b[39m▏ 20 of 40 handled, 10 s left',
    )
  })
})

test('the listing line says how many resources are listed and how many objects were found', () => {
  const watched = [
    { name: 'a', handlerTypes: [], objects: 5 },
    { name: 'b', handlerTypes: [], objects: undefined },
  ]
  const none = burst(1, {})
  expect(drawListing({ watched, burst: none }, look(80))).toBe('Listing existing objects: 1 of 2 resources, 1 object')
  expect(drawListing({ watched, burst: burst(12_000, { created: 500 }) }, look(80))).toBe(
    'Listing existing objects: 1 of 2 resources, 12,000 objects, 500 handled',
  )
})

describe('summary', () => {
  test.each([
    [burst(1, { created: 1 }, { tookMs: 240 }), 'Caught up with 1 object in 0.2 s: 1 created.'],
    [
      burst(1210, { unchanged: 200, created: 1000, retrying: 3, failed: 1, skipped: 4, left: 2 }, { tookMs: 125_000 }),
      'Caught up with 1,210 objects in 2 min 5 s: 1,000 created, 200 unchanged, 4 left alone, 2 let go, 3 to be retried, 1 failed.',
    ],
    [
      burst(6, { updated: 1, resumed: 1, deleted: 1, reconciled: 1, watched: 1 }),
      'Caught up with 5 objects in 10 s: 1 updated, 1 resumed, 1 deleted, 1 reconciled, 1 watched, 1 in progress.',
    ],
  ])('summary %# names every outcome that occurred', (one, expected) => {
    expect(drawSummary(one, palette)).toBe(expected)
  })

  test.each([
    [{ created: 1 } as const, 32],
    [{ created: 1, retrying: 1 } as const, 33],
    [{ retrying: 1, failed: 1 } as const, 31],
  ])('the summary of %o has the colour of its worst outcome', (outcomes, colour) => {
    expect(drawSummary(burst(2, outcomes), coloured)).toMatch(
      new RegExp(`^\\u001b\\[${colour}mCaught .*\\u001b\\[39m$`),
    )
  })
})

test('the line after an interruption says how many objects were handled', () => {
  expect(drawInterruption(burst(1204, { created: 500 }), palette)).toBe(
    'Stopped after 500 of 1,204 objects: the others are handled at the next start.',
  )
})
