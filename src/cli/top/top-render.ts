/**
 * Renders `kopf top`: from the views of the dashboard, the choices of the user and the size of the terminal to lines, none of them wider than the
 * terminal. Pure. Text of the operator and of its cluster is written by `toCell` only, so that no control character reaches the terminal.
 */
import type { Palette } from '../display/colours.ts'
import { toNumber } from '../display/render.ts'
import { truncate } from '../display/text-width.ts'
import { handlerColumns, objectColumns, resourceColumns, sortHandlers, sortResources, toAmount } from './top-columns.ts'
import { drawHead, flow, wrap } from './top-head.ts'
import type { TopSnapshot } from './top-snapshot.ts'
import { drawTopTable, type TableColumn, toCell } from './top-table.ts'
import { type TableName, type TableSizes, type TopView, tableNames } from './top-view.ts'

export interface TopFrame {
  readonly columns: number
  /** Infinity to show everything. */
  readonly rows: number
  readonly palette: Palette
  readonly nowMs: number
  /** Whether keys can be pressed: the last line names them. */
  readonly hasKeys: boolean
  /** Why the data is not of this moment. */
  readonly problem?: string | undefined
}

export interface TopPicture {
  readonly lines: readonly string[]
  readonly sizes: TableSizes
}

const nothing = { shown: 0, total: 0 }

export function renderTop(snapshot: TopSnapshot | undefined, view: TopView, frame: TopFrame): TopPicture {
  if (view.showsHelp) return { lines: drawHelp(frame), sizes: sizesOf({}) }
  const footer = frame.hasKeys ? [drawFooter(view, frame)] : []
  if (snapshot === undefined) {
    const text = frame.problem === undefined ? 'Connecting …' : toCell(frame.problem)
    return { lines: withFooter([...wrap(text, frame.columns)], footer, frame), sizes: sizesOf({}) }
  }
  // At least half of the terminal is for the tables.
  const head = drawHead(snapshot, { ...frame, isPaused: view.isPaused }).slice(0, frame.rows / 2)
  const tables = toTables(snapshot, view, frame)
  // One empty line before each table.
  const heights = shareRows(tables, view.table, frame.rows - head.length - footer.length)
  const drawn = tableNames.flatMap((name) => {
    const height = heights[name]
    return height === 0 ? [] : ['', ...tables[name].draw(height - overhead)]
  })
  const shown = Object.fromEntries(
    tableNames.map((name) => [name, { shown: Math.max(0, heights[name] - overhead), total: tables[name].total }]),
  )
  return { lines: withFooter([...head, ...drawn], footer, frame), sizes: sizesOf(shown) }
}

/** The empty line, the title and the heading of a table. */
const overhead = 3

function sizesOf(sizes: Partial<TableSizes>): TableSizes {
  return { resources: nothing, handlers: nothing, objects: nothing, ...sizes }
}

function withFooter(lines: readonly string[], footer: readonly string[], { rows }: TopFrame): string[] {
  const above = lines.slice(0, Math.max(0, rows - footer.length))
  const padding = rows === Infinity || footer.length === 0 ? 0 : Math.max(0, rows - footer.length - above.length)
  return [...above, ...Array.from({ length: padding }, () => ''), ...footer].slice(0, rows)
}

interface ShownTable {
  readonly total: number
  readonly draw: (rows: number) => string[]
}

function toTables(snapshot: TopSnapshot, view: TopView, frame: TopFrame): Readonly<Record<TableName, ShownTable>> {
  const { overview, handlers, objects } = snapshot
  const resources = sortResources(
    overview.resources.filter((one) => matches(view, one.resource, one.kind)),
    view,
  )
  const calls = sortHandlers(
    handlers.handlers.filter((one) => matches(view, one.id, one.type, one.resource ?? '')),
    view,
  )
  const what = view.showsAll ? 'Objects' : 'Failing objects'
  return {
    resources: toTable(
      { name: 'resources', title: 'Resources', columns: resourceColumns, rows: resources, total: resources.length },
      view,
      frame,
    ),
    handlers: toTable(
      { name: 'handlers', title: 'Handlers', columns: handlerColumns, rows: calls, total: calls.length },
      view,
      frame,
    ),
    objects: toTable(
      {
        name: 'objects',
        title: what,
        columns: objectColumns(frame.nowMs),
        rows: objects.rows,
        total: objects.total,
        firstRow: objects.offset,
      },
      view,
      frame,
    ),
  }
}

function matches({ filter }: TopView, ...texts: readonly string[]): boolean {
  return filter === '' || texts.some((text) => String(text).toLowerCase().includes(filter.toLowerCase()))
}

interface TableContent<T> {
  readonly name: TableName
  readonly title: string
  readonly columns: readonly TableColumn<T>[]
  /** The rows that are known: from `firstRow` on. */
  readonly rows: readonly T[]
  readonly total: number
  readonly firstRow?: number
}

function toTable<T>(content: TableContent<T>, view: TopView, frame: TopFrame): ShownTable {
  const { name, title, columns, rows, total, firstRow = 0 } = content
  const { offset, sort, isReversed } = view.tables[name]
  const draw = (height: number): string[] => {
    const first = Math.max(0, Math.min(offset, total - height))
    const shown = rows.slice(Math.max(0, first - firstRow), Math.max(0, first - firstRow) + height)
    const range = describeRange(first, shown.length, total)
    const isSelected = frame.hasKeys && view.table === name
    const heading = `${isSelected ? '▸ ' : ''}${title}: ${range}`
    const order = `by ${sort}${isReversed ? ', reversed' : ''}${view.filter === '' ? '' : `, filter "${toCell(view.filter)}"`}`
    const line = flow(
      [
        [heading, frame.palette.bold],
        [order, frame.palette.dim],
      ],
      frame.columns,
    )
    return [line[0]!, ...drawTopTable(columns, shown, frame)]
  }
  return { total, draw }
}

function describeRange(first: number, shown: number, total: number): string {
  if (shown >= total) return toAmount(total)
  return `${toNumber(first + 1)}${shown > 1 ? `–${toNumber(first + shown)}` : ''} of ${toAmount(total)}`
}

/** Distributes the rows of the terminal: first the selected table, then one row after the other to each table that needs more. */
function shareRows(
  tables: Readonly<Record<TableName, ShownTable>>,
  selected: TableName,
  available: number,
): Record<TableName, number> {
  const heights: Record<TableName, number> = { resources: 0, handlers: 0, objects: 0 }
  const order = [selected, ...tableNames.filter((name) => name !== selected)]
  let free = available
  const grow = (name: TableName, rows: number): void => {
    if (rows > free) return
    heights[name] += rows
    free -= rows
  }
  for (const name of order) grow(name, overhead + Math.min(1, tables[name].total))
  const needsMore = (name: TableName) => heights[name] > 0 && heights[name] - overhead < tables[name].total
  if (available === Infinity)
    return Object.fromEntries(tableNames.map((name) => [name, tables[name].total + overhead])) as typeof heights
  while (free > 0 && order.some(needsMore)) for (const name of order.filter(needsMore)) grow(name, 1)
  return heights
}

const helpLines = [
  'Keys of kopf top',
  '',
  'tab         select the next table; the keys below are for the selected one',
  's, S        sort by the next key; reverse the order',
  'up, down    scroll by one row; also k and j',
  'page keys   scroll by one page; home and end: to the start and the end',
  'a           show all objects, or only the failing ones',
  '/           filter by text; Enter applies it, Escape removes it',
  'p, space    pause the display, or go on; the operator is not paused',
  'q, Ctrl-C   quit',
  '',
  'Press any key to go back.',
]

function drawHelp({ columns, rows, palette }: TopFrame): string[] {
  const lines = helpLines.map((line) => truncate(columns, line)).slice(0, rows)
  return lines.map((line, index) => (index === 0 ? palette.bold(line) : line))
}

const keyNames = ['q quit', '? help', '/ filter', 's sort', 'tab table', 'a all', 'p pause', '↑↓ scroll']

function drawFooter({ draft }: TopView, { columns, palette }: TopFrame): string {
  if (draft !== undefined) return truncate(columns, `Filter: ${toCell(draft)}█  Enter applies it, Escape cancels`)
  return palette.dim(
    flow(
      keyNames.map((name) => [name] as const),
      columns,
    )[0]!,
  )
}
