import { describe, expect, test } from 'vitest'
import { toObjectsQuery } from './top-snapshot.ts'
import { createTopView, pressTopKey, type TableSizes, type TopView } from './top-view.ts'

const sizes: TableSizes = {
  resources: { shown: 2, total: 2 },
  handlers: { shown: 5, total: 12 },
  objects: { shown: 10, total: 95 },
}

/** The view after these keys; undefined after a key that quits. */
function press(...keys: string[]): TopView | undefined {
  return keys.reduce<TopView | undefined>(
    (view, key) => (view === undefined ? undefined : pressTopKey(view, key, sizes)),
    createTopView(),
  )
}

describe('keys of kopf top', () => {
  test.each([['q'], ['\u0003'], ['escape'], ['?', 'q'], ['/', '\u0003']])('the keys %j %j quit', (...keys) => {
    expect(press(...keys.filter((key) => key !== undefined))).toBeUndefined()
  })

  test('the key tab selects the next table, and shift-tab the previous one', () => {
    expect(press()!.table).toBe('objects')
    expect(press('tab')!.table).toBe('resources')
    expect(press('tab', 'tab')!.table).toBe('handlers')
    expect(press('shift-tab')!.table).toBe('handlers')
  })

  test.each<[string[], number]>([
    [['down', 'down', 'j', 'k'], 2],
    [['up'], 0],
    [['page-down', 'page-down', 'page-up'], 10],
    [['end'], 85],
    [['end', 'down'], 85],
    [['end', 'home'], 0],
  ])('the keys %j scroll the selected table to row %d', (keys, offset) => {
    expect(press(...keys)!.tables.objects.offset).toBe(offset)
    expect(press(...keys)!.tables.handlers.offset).toBe(0)
  })

  test('the key s selects the next sort key of the selected table, and S reverses the order', () => {
    const sorts = [1, 2, 3, 4].map((count) => press(...Array.from({ length: count }, () => 's'))!.tables.objects.sort)
    expect(sorts).toEqual(['changed', 'errors', 'name', 'state'])
    expect(press('S')!.tables.objects.isReversed).toBe(true)
    expect(press('S', 's')!.tables.objects.isReversed).toBe(false)
    expect(press('tab', 's')!.tables).toMatchObject({ resources: { sort: 'name' }, objects: { sort: 'state' } })
  })

  test('the key / reads a filter until Enter, keys in it are text, and Escape removes it', () => {
    const typing = press('/', 'q', 's', 'x', 'backspace', 'up')!
    expect(typing).toMatchObject({ draft: 'qs', filter: '' })
    expect(pressTopKey(typing, 'enter', sizes)).toMatchObject({ draft: undefined, filter: 'qs' })
    expect(pressTopKey(typing, 'escape', sizes)).toMatchObject({ draft: undefined, filter: '' })
    expect(press('/', 'q', 'enter', 'escape')).toMatchObject({ filter: '' })
    expect(press('/', '\u0007', '\u202e', 'a')).toMatchObject({ draft: 'a' })
  })

  test('a filter starts every table at its first row, and has at most 100 characters', () => {
    expect(press('end', '/', 'x', 'enter')!.tables.objects.offset).toBe(0)
    expect(press('/', ...'x'.repeat(150))!.draft).toHaveLength(100)
  })

  test('the keys p and space pause the display, and h shows the help until the next key', () => {
    expect(press('p')!.isPaused).toBe(true)
    expect(press('p', ' ')!.isPaused).toBe(false)
    expect(press('h')!.showsHelp).toBe(true)
    expect(press('?', 'x')!.showsHelp).toBe(false)
  })

  test('a key without a meaning changes nothing', () => {
    expect(press('ö', 'toString', 'constructor')).toEqual(press())
  })
})

test.each<[string[], object]>([
  [[], { state: 'failed,retrying', sort: 'state', order: 'asc', offset: 0, limit: 200 }],
  [['a'], { sort: 'state', order: 'asc', offset: 0, limit: 200 }],
  [['S'], { state: 'failed,retrying', sort: 'state', order: 'desc', offset: 0, limit: 200 }],
  [['s'], { state: 'failed,retrying', sort: 'changed', order: 'desc', offset: 0, limit: 200 }],
  [['s', 'S'], { state: 'failed,retrying', sort: 'changed', order: 'asc', offset: 0, limit: 200 }],
  [['s', 's', 's'], { state: 'failed,retrying', sort: 'name', order: 'asc', offset: 0, limit: 200 }],
  [
    ['/', 'o', 'r', 'enter'],
    { state: 'failed,retrying', text: 'or', sort: 'state', order: 'asc', offset: 0, limit: 200 },
  ],
  [['end'], { state: 'failed,retrying', sort: 'state', order: 'asc', offset: 35, limit: 200 }],
])('after the keys %j, the objects are asked for with %j', (keys, query) => {
  expect(toObjectsQuery(press(...keys)!)).toEqual(query)
})
