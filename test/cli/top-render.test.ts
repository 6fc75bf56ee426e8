/** What `kopf top` shows, from the views of the dashboard. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createPalette } from '../../src/cli/display/colours.ts'
import { widthOf } from '../../src/cli/display/text-width.ts'
import { renderTop, type TopFrame } from '../../src/cli/top/top-render.ts'
import type { TopSnapshot } from '../../src/cli/top/top-snapshot.ts'
import { createTopView, type TopView } from '../../src/cli/top/top-view.ts'
import { handlerRow, nowMs, objectRow, snapshotOf } from './top-support.ts'

const palette = createPalette(false)

function render(
  snapshot: TopSnapshot | undefined,
  frame: Partial<TopFrame> = {},
  view: Partial<TopView> = {},
): readonly string[] {
  const defaults: TopFrame = { columns: 120, rows: Infinity, palette, nowMs, hasKeys: false }
  return renderTop(snapshot, { ...createTopView(), ...view }, { ...defaults, ...frame }).lines
}

const objectNames = (lines: readonly string[]) => lines.flatMap((line) => /\bshop\/(o-\d+)/.exec(line)?.[1] ?? [])
const many = Array.from({ length: 60 }, (_, index) => objectRow({ name: `o-${index}` }))

function withObjects(rows: TopSnapshot['objects']['rows'], offset = 0, total = rows.length): TopSnapshot {
  return snapshotOf({ objects: { total, offset, rows, resources: [], namespaces: [] } })
}

describe('the screen of kopf top', () => {
  test('the screen of the documentation is what kopf top shows', () => {
    const lines = render(snapshotOf(), { columns: 110, rows: 24, hasKeys: true }).map((line) => line.trimEnd())
    expect(readFileSync('docs/operate/top.md', 'utf8')).toContain(`\`\`\`text\n${lines.join('\n')}\n\`\`\``)
  })

  test.each([
    [200, 50],
    [80, 24],
    [40, 24],
    [40, 12],
    [20, 5],
    [10, 2],
    [1, 1],
  ])('on %d columns and %d rows, no line is too wide, and there are not too many', (columns, rows) => {
    for (const isColoured of [false, true]) {
      const lines = render(snapshotOf(), { columns, rows, hasKeys: true, palette: createPalette(isColoured) })
      expect(lines.length).toBeLessThanOrEqual(rows)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: removes escape sequences of colours
      const wide = lines.filter((line) => widthOf(line.replace(/\u001b\[\d+m/g, '')) > columns)
      expect(wide).toEqual([])
    }
  })

  test('on 40 columns, the state, the name and the next attempt of a failing object are shown', () => {
    const lines = render(snapshotOf(), { columns: 40, rows: 24, hasKeys: true })
    expect(lines).toContain('retrying  shop/carts        in 48 s')
    expect(lines.at(-1)).toBe('q quit  ? help  / filter  s sort')
  })

  test('the state of an object is a word, also with colours', () => {
    const lines = render(snapshotOf(), { palette: createPalette(true) }).join('\n')
    expect(lines).toContain('\u001b[31mfailed  \u001b[39m')
    expect(lines).toContain('\u001b[33mretrying\u001b[39m')
  })

  test.each([
    ['\u001b]0;owned\u0007', '\\u001b]0;owned\\u0007'],
    ['\u001b[2J', '\\u001b[2J'],
    ['a\u202eb', 'a\\u202eb'],
    ['line\nline', 'line⏎line'],
  ])('a hostile text %j in any place never reaches the terminal as it is', (text, shown) => {
    const { overview, problems } = snapshotOf()
    const operator = { ...overview.operator, name: text, version: text, server: text, leader: text as 'none' }
    const hostile = snapshotOf({
      overview: {
        ...overview,
        operator,
        resources: overview.resources.map((one) => ({ ...one, resource: text })),
      },
      problems: { problems: problems.problems.map((one) => ({ ...one, title: text, remedy: text })) },
      handlers: { handlers: [handlerRow({ id: text, type: text, resource: text })] },
      objects: {
        total: 1,
        offset: 0,
        rows: [objectRow({ name: text, namespace: text, resource: text, why: text, state: text as 'failed' })],
        resources: [],
        namespaces: [],
      },
    })
    const lines = render(hostile, { columns: 300, problem: text }, { filter: '', draft: text })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: looks for control characters
    expect(lines.filter((line) => /[\u0000-\u001f\u007f-\u009f\u202e]/.test(line))).toEqual([])
    expect(lines.join('\n').split(shown).length).toBeGreaterThan(10)
  })

  test('numbers that an operator of another version does not send are shown as dashes', () => {
    const { overview } = snapshotOf()
    const lines = render(snapshotOf({ overview: { ...overview, queue: {} as never, eventLoop: {} as never } }))
    expect(lines[1]).toMatch(/^queue - {2}active - .*loop lag - ms/)
  })

  test('a table shows the rows from its position, and says which', () => {
    const view = createTopView()
    const tables = { ...view.tables, objects: { ...view.tables.objects, offset: 30 } }
    const lines = render(withObjects(many), { rows: 24, hasKeys: true }, { tables })
    const names = objectNames(lines)
    expect(names[0]).toBe('o-30')
    expect(lines.find((line) => line.includes('Failing objects'))).toContain(
      `▸ Failing objects: 31–${30 + names.length} of 60`,
    )
  })

  test('a table whose rows before the position were not sent shows the right ones', () => {
    const view = createTopView()
    const tables = { ...view.tables, objects: { ...view.tables.objects, offset: 1030 } }
    const lines = render(withObjects(many, 1000, 5000), { rows: 24, hasKeys: true }, { tables })
    expect(objectNames(lines)[0]).toBe('o-30')
  })

  test('a position after the end of a table that has become shorter shows its last rows', () => {
    const view = createTopView()
    const tables = { ...view.tables, objects: { ...view.tables.objects, offset: 500 } }
    expect(objectNames(render(withObjects(many), { rows: 24, hasKeys: true }, { tables })).at(-1)).toBe('o-59')
  })

  test('the filter applies to resources and handlers by their names, in any case', () => {
    const lines = render(snapshotOf(), {}, { filter: 'ROT' }).join('\n')
    expect(lines).toContain('Handlers: 1  by calls, filter "ROT"')
    expect(lines).toContain('rotate')
    expect(lines).not.toContain('provision')
    expect(lines).toContain('Resources: 0')
  })

  test.each([
    ['calls', ['rotate', 'provision', 'drop']],
    ['errors', ['provision', 'drop', 'rotate']],
    ['p99', ['provision', 'drop', 'rotate']],
    ['name', ['drop', 'provision', 'rotate']],
  ])('handlers are sorted by %s', (sort, expected) => {
    const view = createTopView()
    const order = (isReversed: boolean) => {
      const tables = { ...view.tables, handlers: { sort, isReversed, offset: 0 } }
      return render(snapshotOf(), {}, { tables }).flatMap((line) => /^(rotate|provision|drop) /.exec(line)?.[1] ?? [])
    }
    expect(order(false)).toEqual(expected)
    expect(order(true)).toEqual(expected.toReversed())
  })

  test('problems are named with what to do, at most three of them', () => {
    const [problem] = snapshotOf().problems.problems
    const lines = render(snapshotOf({ problems: { problems: Array.from({ length: 5 }, () => problem!) } }))
    expect(lines.filter((line) => line.startsWith('Problem: The watch of secrets.v1 is down. Look'))).toHaveLength(3)
    expect(lines).toContain('and 2 more problems')
  })

  test('a lost connection is shown with the last data', () => {
    const lines = render(snapshotOf(), { problem: 'Cannot reach the operator' })
    expect(lines).toContain('Cannot reach the operator')
    expect(lines.join('\n')).toContain('provision')
  })

  test('without any data, the reason is shown in full', () => {
    const problem = 'Cannot reach the operator at http://127.0.0.1:1: the connection was refused'
    const lines = render(undefined, { columns: 30, rows: 10, hasKeys: true, problem })
    expect(lines.slice(0, -1).join(' ').trim()).toBe(problem)
  })

  test('the help names every key, and the last line shows a filter while it is typed', () => {
    expect(render(snapshotOf(), { rows: 24 }, { showsHelp: true })[0]).toBe('Keys of kopf top')
    expect(render(snapshotOf(), { rows: 24, hasKeys: true }, { draft: 'ord' }).at(-1)).toBe(
      'Filter: ord█  Enter applies it, Escape cancels',
    )
  })
})
