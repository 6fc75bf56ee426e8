/** What the user has chosen to see in `kopf top`: sort keys, filter, positions; and how key presses change it. Pure. */

export type TableName = 'resources' | 'handlers' | 'objects'

export const tableNames: readonly TableName[] = ['resources', 'handlers', 'objects']

/** The first one of each table is the default. Those of the objects are the ones of the dashboard. */
interface SortKeys {
  readonly resources: readonly ['failing', 'name', 'objects']
  readonly handlers: readonly ['calls', 'errors', 'p99', 'name']
  readonly objects: readonly ['state', 'changed', 'errors', 'name']
}

export const sortKeys: SortKeys = {
  resources: ['failing', 'name', 'objects'],
  handlers: ['calls', 'errors', 'p99', 'name'],
  objects: ['state', 'changed', 'errors', 'name'],
}

interface TableView {
  readonly sort: string
  readonly isReversed: boolean
  /** The first row that is shown. */
  readonly offset: number
}

export interface TopView {
  /** The table that the keys for sorting and scrolling change. */
  readonly table: TableName
  readonly tables: Readonly<Record<TableName, TableView>>
  readonly filter: string
  /** The filter that the user is typing. */
  readonly draft: string | undefined
  /** Whether all objects are shown, not only failing ones. */
  readonly showsAll: boolean
  readonly isPaused: boolean
  readonly showsHelp: boolean
}

export interface TopChoice {
  readonly filter?: string | undefined
  /** A sort key of the objects. */
  readonly sort?: string | undefined
  readonly all?: boolean | undefined
}

export function createTopView({ filter = '', sort = sortKeys.objects[0], all = false }: TopChoice = {}): TopView {
  const table = (name: TableName): TableView => ({ sort: sortKeys[name][0], isReversed: false, offset: 0 })
  return {
    table: 'objects',
    tables: { resources: table('resources'), handlers: table('handlers'), objects: { ...table('objects'), sort } },
    filter,
    draft: undefined,
    showsAll: all,
    isPaused: false,
    showsHelp: false,
  }
}

/** The rows of each table that fit the terminal, and those that there are. */
export type TableSizes = Readonly<Record<TableName, { readonly shown: number; readonly total: number }>>

/** Longer filters are cut: the dashboard would refuse them. */
const maxFilter = 100

const ctrlC = '\u0003'

/** The view after a key press; undefined to quit. */
export function pressTopKey(view: TopView, key: string, sizes: TableSizes): TopView | undefined {
  if (key === ctrlC) return undefined
  if (view.draft !== undefined) return editFilter(view, key, view.draft)
  if (view.showsHelp) return key === 'q' ? undefined : { ...view, showsHelp: false }
  if (key === 'q') return undefined
  if (key === 'escape') return view.filter === '' ? undefined : setFilter(view, '')
  return Object.hasOwn(keys, key) ? keys[key]!(view, sizes) : view
}

type KeyAction = (view: TopView, sizes: TableSizes) => TopView

const keys: Readonly<Record<string, KeyAction>> = {
  '/': (view) => ({ ...view, draft: view.filter }),
  '?': (view) => ({ ...view, showsHelp: true }),
  h: (view) => ({ ...view, showsHelp: true }),
  a: (view) => changeTable({ ...view, showsAll: !view.showsAll }, 'objects', { offset: 0 }),
  p: (view) => ({ ...view, isPaused: !view.isPaused }),
  ' ': (view) => ({ ...view, isPaused: !view.isPaused }),
  tab: (view) => selectTable(view, 1),
  'shift-tab': (view) => selectTable(view, -1),
  s: (view) => selectSort(view),
  S: (view) => changeTable(view, view.table, { isReversed: !view.tables[view.table].isReversed, offset: 0 }),
  up: (view, sizes) => scroll(view, sizes, -1),
  k: (view, sizes) => scroll(view, sizes, -1),
  down: (view, sizes) => scroll(view, sizes, 1),
  j: (view, sizes) => scroll(view, sizes, 1),
  'page-up': (view, sizes) => scroll(view, sizes, -sizes[view.table].shown),
  'page-down': (view, sizes) => scroll(view, sizes, sizes[view.table].shown),
  home: (view, sizes) => scroll(view, sizes, -Infinity),
  end: (view, sizes) => scroll(view, sizes, Infinity),
}

function editFilter(view: TopView, key: string, draft: string): TopView {
  if (key === 'enter') return setFilter({ ...view, draft: undefined }, draft)
  if (key === 'escape') return { ...view, draft: undefined }
  if (key === 'backspace') return { ...view, draft: [...draft].slice(0, -1).join('') }
  const isCharacter = [...key].length === 1 && !/[\p{Cc}\p{Cf}\p{Cs}]/u.test(key)
  return isCharacter && draft.length < maxFilter ? { ...view, draft: draft + key } : view
}

function setFilter(view: TopView, filter: string): TopView {
  const tables = Object.fromEntries(tableNames.map((name) => [name, { ...view.tables[name], offset: 0 }]))
  return { ...view, filter, tables: tables as TopView['tables'] }
}

function changeTable(view: TopView, name: TableName, change: Partial<TableView>): TopView {
  return { ...view, tables: { ...view.tables, [name]: { ...view.tables[name], ...change } } }
}

function selectTable(view: TopView, step: number): TopView {
  const index = tableNames.indexOf(view.table) + step + tableNames.length
  return { ...view, table: tableNames[index % tableNames.length]! }
}

function selectSort(view: TopView): TopView {
  const known: readonly string[] = sortKeys[view.table]
  const sort = known[(known.indexOf(view.tables[view.table].sort) + 1) % known.length]!
  return changeTable(view, view.table, { sort, isReversed: false, offset: 0 })
}

function scroll(view: TopView, sizes: TableSizes, step: number): TopView {
  const { shown, total } = sizes[view.table]
  const last = Math.max(0, total - shown)
  const offset = Math.max(0, Math.min(last, view.tables[view.table].offset + step))
  return changeTable(view, view.table, { offset })
}
