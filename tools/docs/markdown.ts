/** Writes tables, and replaces the marked parts of Markdown files. */

/** Pads each column to its widest cell, like the hand-written tables. Leaves out empty columns. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const used = head.map((_, column) => column === 0 || rows.some((row) => row[column] !== ''))
  const lines = [head, ...rows].map((row) => row.filter((_, column) => used[column]).map(escapeCell))
  const widths = lines[0]!.map((_, column) => Math.max(3, ...lines.map((row) => row[column]!.length)))
  const written = lines.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`)
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [written[0]!, rule, ...written.slice(1)].join('\n')
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|')
}

const marker = /^<!-- generated: ([^\n]+) -->\n.*?^<!-- end -->$/gms

/** Replaces the text between each pair of markers with the part of that name. Throws for an unknown name. */
export function fillMarked(text: string, parts: Readonly<Record<string, string>>): string {
  return text.replaceAll(marker, (_, name: string) => {
    const part = parts[name]
    if (part === undefined) throw new Error(`Cannot generate "${name}": there are ${Object.keys(parts).join(', ')}`)
    return mark(name, part)
  })
}

function mark(name: string, part: string): string {
  return `<!-- generated: ${name} -->\n\n${part}\n\n<!-- end -->`
}
