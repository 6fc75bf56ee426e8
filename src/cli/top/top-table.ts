/** Writes rows as a table that is never wider than the terminal: columns of less importance are left out, and long texts are cut. Pure. */
import type { Palette } from '../display/colours.ts'
import { fitTo, truncate, widthOf } from '../display/text-width.ts'
import { printable } from '../terminal.ts'

export interface TableColumn<T> {
  readonly title: string
  readonly text: (row: T) => string
  readonly alignment?: 'left' | 'right'
  /** The column with the highest number is the first to be left out. */
  readonly rank: number
  /** The text may be cut to this width. Default: it is never cut, unless the column alone is wider than the terminal. */
  readonly minWidth?: number
  readonly paint?: (row: T, palette: Palette) => (text: string) => string
}

export interface TableStyle {
  readonly columns: number
  readonly palette: Palette
}

const gap = 2
/** Characters of a text that are looked at: no terminal is wider. */
const maxLength = 1000

/** A heading and one line per row. */
export function drawTopTable<T>(columns: readonly TableColumn<T>[], rows: readonly T[], style: TableStyle): string[] {
  const texts = columns.map((column) => rows.map((row) => toCell(column.text(row))))
  const natural = columns.map(({ title }, index) => Math.max(title.length, ...texts[index]!.map(widthOf)))
  const widths = layOut(columns, natural, style.columns)
  const shown = columns.map((_, index) => index).filter((index) => widths[index] !== undefined)
  const draw = (cell: (index: number) => string, paint: (index: number) => (text: string) => string): string =>
    shown
      .map((index, position) => {
        const isLast = position === shown.length - 1 && columns[index]!.alignment !== 'right'
        const text = isLast
          ? truncate(widths[index]!, cell(index))
          : fitTo(widths[index]!, cell(index), columns[index]!.alignment)
        return paint(index)(text)
      })
      .join(' '.repeat(gap))
  return [
    draw(
      (index) => columns[index]!.title,
      () => style.palette.dim,
    ),
    ...rows.map((row, number) =>
      draw(
        (index) => texts[index]![number]!,
        (index) => columns[index]!.paint?.(row, style.palette) ?? ((text) => text),
      ),
    ),
  ]
}

/** A text of the operator or of its cluster, on one line and without control characters. */
export function toCell(text: unknown): string {
  return printable(String(text ?? '').slice(0, maxLength))
}

/** The widths of the columns that fit; undefined for those that are left out. */
function layOut<T>(
  columns: readonly TableColumn<T>[],
  natural: readonly number[],
  width: number,
): (number | undefined)[] {
  const minimal = columns.map(({ minWidth }, index) => Math.min(natural[index]!, minWidth ?? Infinity))
  const kept = new Set(columns.keys())
  const byRank = [...kept].toSorted((a, b) => columns[b]!.rank - columns[a]!.rank)
  const needed = () => [...kept].reduce((sum, index) => sum + minimal[index]! + gap, -gap)
  while (kept.size > 1 && needed() > width) kept.delete(byRank.shift()!)
  const widths: (number | undefined)[] = columns.map(() => undefined)
  const last = Math.max(...kept)
  let free = width - needed()
  for (const index of [...kept].toSorted((a, b) => columns[a]!.rank - columns[b]!.rank)) {
    // A long name leaves room for the reason after it.
    const wanted = index === last ? natural[index]! : Math.min(natural[index]!, Math.max(minimal[index]!, width / 2))
    const added = Math.max(0, Math.min(Math.floor(wanted) - minimal[index]!, free))
    free -= added
    widths[index] = Math.min(minimal[index]! + added, width)
  }
  return widths
}
