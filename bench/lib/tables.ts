/** Formats results as Markdown tables. */

export interface Table {
  readonly title: string
  readonly note?: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export function toMarkdown({ title, note, head, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const lines = [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)]
  return [`### ${title}`, '', ...(note === undefined ? [] : [note, '']), ...lines, ''].join('\n')
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

export function seconds(value: number): string {
  return `${value.toFixed(2)} s`
}

export function megabytes(value: number): string {
  return `${Math.round(value)} MB`
}

export function formatMs(value: number): string {
  return value < 10 ? `${value.toFixed(1)} ms` : `${whole(value)} ms`
}
