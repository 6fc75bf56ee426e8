/**
 * Maps stack traces of a program of `kopf build` to the source files. `process.setSourceMapsEnabled` has no effect on a file that Node has
 * loaded already, and the program is a single file. Reads the source map at the first stack trace, so that the start does not pay for it.
 */
import { readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lazy } from '../../util/lazy.ts'

/** The source of this package's code in the source map. Its stack frames keep the position in the program. */
export const ownSource = 'node_modules/kopf'

/** Has no effect with `node --enable-source-maps`: Node then maps stack traces itself. */
export function mapStackTraces(url: string): void {
  if (process.sourceMapsEnabled) return
  const path = fileURLToPath(url)
  const map = lazy(() => readSourceMap(`${path}.map`))
  Error.prepareStackTrace = (error, frames) =>
    [toTitle(error), ...frames.map((frame) => `    at ${mapFrame(frame, { url, path }, map)}`)].join('\n')
}

/** Undefined if the source map was not copied with the program: stack traces then refer to the program. */
function readSourceMap(path: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')) as SourceMapPayload)
  } catch {
    return undefined
  }
}

function toTitle(error: Error): string {
  try {
    return Error.prototype.toString.call(error)
  } catch {
    return '<error>'
  }
}

interface ProgramFile {
  readonly url: string
  readonly path: string
}

function mapFrame(frame: NodeJS.CallSite, { url, path }: ProgramFile, map: () => SourceMap | undefined): string {
  const text = String(frame)
  const line = frame.getLineNumber()
  const column = frame.getColumnNumber()
  if (frame.getFileName() !== url || line === null || column === null) return text
  const entry = map()?.findEntry(line - 1, column - 1)
  if (entry === undefined || !('originalSource' in entry) || entry.originalSource === ownSource) return text
  const source = join(dirname(path), entry.originalSource)
  return text.replace(
    `${url}:${line}:${column}`,
    () => `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`,
  )
}
