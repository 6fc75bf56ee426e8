/**
 * Shows the source lines around the place where an error was thrown: `file:line:column`, and a mark below the column. Reads the user's source
 * file; the positions come from the stack, which Node has translated by source maps.
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toSafeLine } from '../util/log/error-text.ts'
import { ownCode } from '../util/process/package-files.ts'
import { truncate } from './display/text-width.ts'

interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

const linesAround = 2
/** Longer lines are cut: the file may be minified. */
const maxColumns = 160

/** Undefined if the error was not thrown in a file of the user, or if the file cannot be read. */
export function toCodeFrame(error: unknown, folder: string): string | undefined {
  const place = findPlace(error)
  if (place === undefined) return undefined
  const lines = readLines(place.file)
  if (place.line > lines.length) return undefined
  const { line, column } = place
  const first = Math.max(1, line - linesAround)
  const last = Math.min(lines.length, line + linesAround)
  const width = String(last).length
  const rows = lines.slice(first - 1, last).flatMap((text, index) => {
    const number = first + index
    const row = `${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${toShown(text)}`.trimEnd()
    // Tabs are kept, so that the mark is below the column.
    const indent = text.slice(0, column - 1).replace(/[^\t]/g, ' ')
    return number === line && column <= maxColumns ? [row, `  ${' '.repeat(width)} | ${indent}^`] : [row]
  })
  const name = relative(folder, place.file)
  return [`${name.startsWith('..') ? place.file : name}:${line}:${column}`, ...rows].join('\n')
}

function toShown(text: string): string {
  return toSafeLine(truncate(maxColumns, text))
}

/** The first stack frame in a file of the user. */
function findPlace(error: unknown): Place | undefined {
  const stack = error instanceof Error && typeof error.stack === 'string' ? error.stack : ''
  for (const frame of stack.split('\n').filter((line) => /^ +at /.test(line))) {
    const [, address = '', line, column] = /(?:\(|^ +at (?:async )?)([^()]+):(\d+):(\d+)\)?$/.exec(frame) ?? []
    if (address === '' || /^node:|[\\/]node_modules[\\/]/.test(address) || address.includes(ownCode())) continue
    const file = address.startsWith('file:') ? fileURLToPath(address) : address
    return { file, line: Number(line), column: Number(column) }
  }
  return undefined
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split(/\r?\n/)
  } catch {
    return []
  }
}
