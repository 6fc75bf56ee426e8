/** Finds the file of a worker module when a handler is registered, and describes it in messages. */
import { existsSync } from 'node:fs'
import { isAbsolute, join, parse } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { KopfError } from '../errors.ts'
import type { WorkerModule } from '../handlers/args/workers.ts'

/** File extensions of sources and of compiled files: the URL in the code is the same before and after compiling. */
const counterparts: Readonly<Record<string, string>> = {
  '.ts': '.js',
  '.mts': '.mjs',
  '.cts': '.cjs',
  '.tsx': '.js',
  '.js': '.ts',
  '.mjs': '.mts',
  '.cjs': '.cts',
}

/** Returns the file at the URL, or else its compiled version or its source. Throws if neither exists. */
export function findModule(given: URL | string): URL {
  const path = toPath(given)
  const found = findCounterpart(path)
  if (found !== undefined) return pathToFileURL(found)
  return throwModuleError(path, 'there is no such file; it is looked for when the handler is registered')
}

/** The path itself if it exists, or else its compiled version or its source; undefined if neither exists. */
export function findCounterpart(path: string): string | undefined {
  if (existsSync(path)) return path
  const counterpart = toCompiled(path)
  return counterpart !== path && existsSync(counterpart) ? counterpart : undefined
}

/** The path of the compiled version of a source, and of the source of a compiled file; the path itself for other files. */
function toCompiled(path: string): string {
  const { dir, name, ext } = parse(path)
  return ext in counterparts ? join(dir, `${name}${counterparts[ext]}`) : path
}

function toPath(given: URL | string): string {
  if (typeof given === 'string' && isAbsolute(given)) return given
  const text = String(given)
  if (text.startsWith('file:')) return fileURLToPath(text)
  return throwModuleError(text, `expected the address of a file: new URL('./heavy.ts', import.meta.url)`)
}

function throwModuleError(what: string, problem: string): never {
  throw new KopfError('KOPF_WORKER', `Cannot run "${what}" in a worker: ${problem}`)
}

/** The handler's name: that of the export, or of the file for a default export. */
export function nameOf({ url, exportName }: WorkerModule): string {
  return exportName === 'default' ? parse(fileURLToPath(url)).name : exportName
}

/** `"heavy.ts"`, or `"resize" of "heavy.ts"`. */
export function describeModule({ url, exportName }: WorkerModule): string {
  const file = `"${parse(fileURLToPath(url)).base}"`
  return exportName === 'default' ? file : `"${exportName}" of ${file}`
}
