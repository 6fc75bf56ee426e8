/** Which file a function for a worker is in, and what messages call it. Asked when a handler is registered. */
import { existsSync } from 'node:fs'
import { isAbsolute, parse } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { WorkerModule } from '../../core/handling/workers.ts'
import { KopfError } from '../../errors.ts'

/** Sources and what compilers make of them: the address is written once, the files are here or there. */
const twins: Readonly<Record<string, string>> = {
  '.ts': '.js',
  '.mts': '.mjs',
  '.cts': '.cjs',
  '.tsx': '.js',
  '.js': '.ts',
  '.mjs': '.mts',
  '.cjs': '.cts',
}

/** The file at the address; where there is none, its twin. */
export function findModule(given: URL | string): URL {
  const path = toPath(given)
  if (existsSync(path)) return pathToFileURL(path)
  const { dir, name, ext } = parse(path)
  const twin = ext in twins ? `${dir}/${name}${twins[ext]}` : undefined
  if (twin !== undefined && existsSync(twin)) return pathToFileURL(twin)
  return refuse(path, 'there is no such file; it is looked for when the handler is registered')
}

function toPath(given: URL | string): string {
  if (typeof given === 'string' && isAbsolute(given)) return given
  const text = String(given)
  if (text.startsWith('file:')) return fileURLToPath(text)
  return refuse(text, `expected the address of a file: new URL('./heavy.ts', import.meta.url)`)
}

function refuse(what: string, problem: string): never {
  throw new KopfError('KOPF_WORKER', `Cannot run "${what}" in a worker: ${problem}`)
}

/** What handlers are called after it: the export, or the file where it is the default one. */
export function nameOf({ url, exportName }: WorkerModule): string {
  return exportName === 'default' ? parse(fileURLToPath(url)).name : exportName
}

/** `"heavy.ts"`, or `"resize" of "heavy.ts"`. */
export function describeModule({ url, exportName }: WorkerModule): string {
  const file = `"${parse(fileURLToPath(url)).base}"`
  return exportName === 'default' ? file : `"${exportName}" of ${file}`
}
