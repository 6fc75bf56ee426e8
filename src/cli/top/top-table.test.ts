import { describe, expect, test } from 'vitest'
import { createPalette } from '../display/colours.ts'
import { widthOf } from '../display/text-width.ts'
import { drawTopTable, type TableColumn, toCell } from './top-table.ts'

interface Row {
  readonly name: string
  readonly count: number
  readonly why: string
}

const columns: readonly TableColumn<Row>[] = [
  { title: 'NAME', rank: 0, minWidth: 6, text: ({ name }) => name },
  { title: 'COUNT', rank: 2, alignment: 'right', text: ({ count }) => String(count) },
  { title: 'WHY', rank: 1, minWidth: 5, text: ({ why }) => why, paint: (_, { red }) => red },
]
const rows: readonly Row[] = [
  { name: 'shop/orders', count: 12, why: 'The server does not answer' },
  { name: 'x', count: 3, why: '' },
]
const draw = (width: number, of: readonly Row[] = rows, isColoured = false) =>
  drawTopTable(columns, of, { columns: width, palette: createPalette(isColoured) })

describe('tables of kopf top', () => {
  test('a table aligns its columns, numbers to the right', () => {
    expect(draw(60)).toEqual([
      'NAME         COUNT  WHY',
      'shop/orders     12  The server does not answer',
      'x                3  ',
    ])
  })

  test.each<[number, string[]]>([
    [40, ['NAME         COUNT  WHY', 'shop/orders     12  The server does not…', 'x                3  ']],
    [20, ['NAME    COUNT  WHY', 'shop/…     12  The …', 'x           3  ']],
    // The count is left out first.
    [19, ['NAME       WHY', 'shop/ord…  The ser…', 'x          ']],
    [10, ['NAME', 'shop/orde…', 'x']],
    [3, ['NA…', 'sh…', 'x']],
  ])('a table on %d columns cuts long texts, and leaves columns out', (width, expected) => {
    expect(draw(width)).toEqual(expected)
  })

  test.each([1, 2, 5, 12, 17, 23, 37, 80])('no line of a table is wider than %d columns', (width) => {
    const names = [
      '数据库数据库数据库',
      '\u202eevil',
      '\u001b[2J\u001b]0;title\u0007',
      'e\u0301\u0301\u0301\u0301',
      'x'.repeat(10_000),
    ]
    const lines = draw(
      width,
      names.map((name) => ({ name, count: 1, why: name })),
    )
    expect(lines.filter((line) => widthOf(line) > width)).toEqual([])
  })

  test('colours do not change the widths of a table', () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: removes escape sequences of colours
    expect(draw(30, rows, true).map((line) => line.replace(/\u001b\[\d+m/g, ''))).toEqual(draw(30))
  })
})

test.each<[unknown, string]>([
  ['orders', 'orders'],
  ['two\nlines', 'two⏎lines'],
  ['\u001b[31mred', '\\u001b[31mred'],
  ['\u009b2J', '\\u009b2J'],
  ['a\u202etxt.exe', 'a\\u202etxt.exe'],
  ['zero\u200bwidth', 'zero\\u200bwidth'],
  ['\ud800', '\\ud800'],
  ['\ue000', '\\ue000'],
  ['a\u0301\u0302\u0303\u0304', 'a\u0301\u0302\\u0303\\u0304'],
  [undefined, ''],
  [12, '12'],
])('the text %j is shown as %j', (text, shown) => expect(toCell(text)).toBe(shown))

test('a very long text is looked at only up to the width of a terminal', () => {
  expect(toCell('x'.repeat(1_000_000)).length).toBe(1000)
})
