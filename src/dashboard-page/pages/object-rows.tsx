/**
 * The rows of the list of objects. Only the visible rows and some around them are in the document, whatever the number of objects; rows that have not
 * arrived are empty. Pages of the list are requested from the operator while the user scrolls.
 */
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ObjectRow, ObjectsView } from '../../dashboard/protocol.ts'
import { Placeholder } from '../parts/containers.tsx'
import { formatCount } from '../parts/format.ts'
import { ObjectLink, StateBadge } from '../parts/state.tsx'
import { Countdown, Distance } from '../parts/times.tsx'
import type { ViewAddress } from '../route.ts'

/** Rows outside of the visible part, above and below. */
const margin = 8
/** Rows of one request; the protocol allows 200. */
const pageSize = 120
/** Pages overlap, so that the rows around the visible part are there before it moves. */
const step = 40
/** Time without scrolling after which rows are requested. */
const settledMs = 80
/** Browsers limit the height of an element; lists of more rows are cut, and the filter finds the others. */
const maxRows = 400_000

/** The page of the list that has the rows from `first` on. */
export function pageOf(first: number): { readonly offset: string; readonly limit: string } {
  const offset = Math.max(0, Math.floor((first - step) / step) * step)
  return { offset: String(offset), limit: String(pageSize) }
}

interface Window {
  readonly first: number
  readonly last: number
}

interface ObjectRowsProps {
  readonly data: ObjectsView | undefined
  readonly query: ViewAddress['query']
  /** A change of it scrolls to the top: the filters. */
  readonly resetKey: string
  /** Called with the first visible row when the scrolling rests. */
  readonly onScroll: (first: number) => void
}

export function ObjectRows({ data, query, resetKey, onScroll }: ObjectRowsProps): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null)
  const [visible, height, measure] = useWindow(scroller, resetKey, onScroll)
  const withResource = (query['resource'] ?? '') === ''
  const total = Math.min(data?.total ?? 0, maxRows)
  useLayoutEffect(measure, [data === undefined])
  if (data?.total === 0) return <NoObjects query={query} />
  const indices = data === undefined ? [] : range(visible.first, Math.min(visible.last, total))
  return (
    <div
      ref={scroller}
      class="rows"
      tabIndex={0}
      role="region"
      aria-label="List of objects"
      onScroll={measure}
      onKeyDown={moveByArrow}
    >
      <div role="table" aria-label="Objects" aria-rowcount={total + 1} class={withResource ? '' : 'one-resource'}>
        <div role="rowgroup" class="rows-head">
          <div role="row" aria-rowindex={1} class="row">
            {['State', 'Object', 'Why', 'Next attempt', 'Changed', 'Errors'].map((name) => (
              <span key={name} role="columnheader">
                {name}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" class="rows-body" style={{ height: `${total * height}px` }}>
          {indices.map((index) => (
            <Row
              key={index}
              index={index}
              top={index * height}
              row={data!.rows[index - data!.offset]}
              withResource={withResource}
            />
          ))}
        </div>
      </div>
    </div>
  )
}

function useWindow(
  scroller: { readonly current: HTMLDivElement | null },
  resetKey: string,
  onScroll: (first: number) => void,
): readonly [Window, number, () => void] {
  const [visible, setVisible] = useState<Window>({ first: 0, last: 60 })
  const [height, setHeight] = useState(36)
  const timer = useRef<ReturnType<typeof setTimeout>>()
  const measure = () => {
    const element = scroller.current
    if (element === null) return
    // The style sheet says how high a row is: narrow screens have rows of two lines.
    const rowHeight = Number.parseFloat(getComputedStyle(element).getPropertyValue('--row')) || 36
    const top = Math.floor(element.scrollTop / rowHeight)
    const first = Math.max(0, top - margin)
    const last = top + Math.ceil(element.clientHeight / rowHeight) + margin
    setHeight(rowHeight)
    setVisible((known) => (known.first === first && known.last === last ? known : { first, last }))
    clearTimeout(timer.current)
    timer.current = setTimeout(() => onScroll(top), settledMs)
  }
  useEffect(() => {
    scroller.current?.scrollTo(0, 0)
    measure()
  }, [resetKey])
  useEffect(() => {
    addEventListener('resize', measure)
    return () => {
      removeEventListener('resize', measure)
      clearTimeout(timer.current)
    }
  }, [])
  return [visible, height, measure]
}

function range(first: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index)
}

interface RowProps {
  readonly index: number
  readonly top: number
  /** Undefined until it has arrived. */
  readonly row: ObjectRow | undefined
  readonly withResource: boolean
}

function Row({ index, top, row, withResource }: RowProps): JSX.Element {
  const style = { transform: `translateY(${top}px)` }
  if (row === undefined) {
    return (
      <div role="row" aria-rowindex={index + 2} class="row empty" style={style}>
        <span role="cell">…</span>
      </div>
    )
  }
  return (
    <div role="row" aria-rowindex={index + 2} class="row" style={style}>
      <span role="cell">
        <StateBadge state={row.state} />
      </span>
      <span role="cell" class="cell-object">
        <ObjectLink of={row} withResource={withResource} />
      </span>
      <span role="cell" class="cell-why" title={row.why}>
        {row.why}
      </span>
      <span role="cell" class="cell-next">
        <Countdown atMs={row.nextAtMs} />
      </span>
      <span role="cell" class="cell-changed muted">
        <Distance atMs={row.changedAtMs} />
      </span>
      <span role="cell" class="cell-errors">
        {row.errors === 0 ? <span class="muted">0</span> : formatCount(row.errors)}
      </span>
    </div>
  )
}

function NoObjects({ query }: { readonly query: ViewAddress['query'] }): JSX.Element {
  const isFiltered = ['resource', 'namespace', 'state', 'text'].some((name) => (query[name] ?? '') !== '')
  return (
    <Placeholder>
      {isFiltered
        ? 'No object matches the filter. You see only objects that you may list.'
        : 'There are no objects that you may list.'}
    </Placeholder>
  )
}

/** The arrow keys move from link to link. The browser scrolls to the focused link, and the next rows are added. */
function moveByArrow(event: KeyboardEvent): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0 || event.altKey || event.ctrlKey || event.metaKey) return
  const scroller = event.currentTarget as HTMLElement
  const links = [...scroller.querySelectorAll<HTMLAnchorElement>('.rows-body a')]
  const index = links.indexOf(document.activeElement as HTMLAnchorElement)
  const first = links.find((link) => link.getBoundingClientRect().top >= scroller.getBoundingClientRect().top + 30)
  const target = index === -1 ? first : links[index + step]
  if (target === undefined) return
  event.preventDefault()
  target.focus({ preventScroll: true })
  target.closest('.row')!.scrollIntoView({ block: 'nearest' })
}
