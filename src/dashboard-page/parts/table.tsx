/** A table that can be sorted by its columns. On narrow screens each row becomes a block in which each value has its label. */
import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from './icons.tsx'

export interface SortableColumn<Row> {
  readonly name: string
  readonly cell: (row: Row) => ComponentChildren
  /** The value to sort by; absent: the column is not sorted. */
  readonly value?: (row: Row) => number | string | undefined
  readonly isNumber?: boolean
}

interface TableProps<Row> {
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: readonly SortableColumn<Row>[]
  readonly keyOf: (row: Row) => string
  /** The name of the column to sort by at first, descending. Without it, rows keep their order. */
  readonly sortBy?: string
}

interface Order {
  readonly name: string | undefined
  readonly isDescending: boolean
}

export function Table<Row>({ label, rows, columns, keyOf, sortBy }: TableProps<Row>): JSX.Element {
  const [order, setOrder] = useState<Order>({ name: sortBy, isDescending: true })
  return (
    <table class="table" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <HeaderCell key={column.name} column={column} order={order} onSort={setOrder} />
          ))}
        </tr>
      </thead>
      <tbody>
        {sortRows(rows, columns, order).map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ name, cell, isNumber }) => (
              <td key={name} data-label={name} class={isNumber ? 'number' : ''}>
                <div>{cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function HeaderCell<Row>(props: {
  readonly column: SortableColumn<Row>
  readonly order: Order
  readonly onSort: (order: Order) => void
}): JSX.Element {
  const { column, order, onSort } = props
  const { name, value, isNumber } = column
  const isSorted = order.name === name
  return (
    <th
      scope="col"
      class={isNumber ? 'number' : ''}
      aria-sort={isSorted ? (order.isDescending ? 'descending' : 'ascending') : undefined}
    >
      {value === undefined ? (
        name
      ) : (
        <button
          type="button"
          class="sort"
          onClick={() => onSort({ name, isDescending: isSorted ? !order.isDescending : isNumber === true })}
        >
          {name}
          {isSorted && <Icon name={order.isDescending ? 'down' : 'up'} />}
        </button>
      )}
    </th>
  )
}

/** Rows without a value are last in both directions. */
function sortRows<Row>(rows: readonly Row[], columns: readonly SortableColumn<Row>[], order: Order): readonly Row[] {
  const read = columns.find(({ name }) => name === order.name)?.value
  if (read === undefined) return rows
  const sign = order.isDescending ? -1 : 1
  return rows.toSorted((one, other) => {
    const [a, b] = [read(one), read(other)]
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
    return a < b ? -sign : a > b ? sign : 0
  })
}
