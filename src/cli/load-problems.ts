/** What is wrong with a file that was to be loaded, in words for its author: their places, none of ours. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Message } from 'esbuild'
import { KopfError } from '../errors.ts'
import { ownCode } from '../util/package-files.ts'

/** At most so many errors of a compiler: the first ones cause the others. */
const maxMessages = 5

export function toLoadError(error: unknown, name: string): unknown {
  if (error instanceof KopfError && (error.code === 'KOPF_COMPILE' || error.code === 'KOPF_LOAD')) return error
  if (isBuildFailure(error)) return toCompileError(error)
  const code = (error as { code?: unknown } | undefined)?.code
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_UNSUPPORTED_DIR_IMPORT') {
    const why = `${(error as Error).message}; check the import, or install the package with "npm install"`
    return new KopfError('KOPF_LOAD', `Cannot load "${name}": ${why}`, { cause: error })
  }
  return new KopfError('KOPF_LOAD', `Cannot load "${name}": ${describe(error)}`, { cause: error })
}

/** As Node says it where neither the project nor its parents have the package. */
export function isMissingKopf(error: unknown): boolean {
  const { code, message = '' } = (error ?? {}) as { code?: unknown; message?: string }
  return code === 'ERR_MODULE_NOT_FOUND' && message.includes("Cannot find package 'kopf'")
}

function isBuildFailure(error: unknown): error is { errors: readonly Message[] } {
  return error instanceof Error && Array.isArray((error as { errors?: unknown }).errors)
}

function toCompileError({ errors }: { errors: readonly Message[] }): KopfError {
  const missing = errors.find(({ detail }) => detail?.target !== undefined)
  if (missing !== undefined) {
    const why = `${missing.text}, or write "./" before the path of a file`
    return new KopfError('KOPF_LOAD', `Cannot load the module "${missing.detail.target}": ${why}`)
  }
  const shown = errors.slice(0, maxMessages).map(formatMessage)
  const more = errors.length > maxMessages ? [`… and ${errors.length - maxMessages} more`] : []
  return new KopfError('KOPF_COMPILE', `Cannot compile ${[...shown, ...more].join('\n')}`)
}

/** The place as editors and terminals make a link of it, and the line itself with a mark below. */
function formatMessage({ text, location }: Message): string {
  if (location === null) return text
  const { file, line, column, length, lineText } = location
  const gutter = String(line)
  // Tabs stay tabs: the mark stands below what it marks.
  const indent = lineText.slice(0, column).replace(/[^\t]/g, ' ')
  const marked = `${' '.repeat(gutter.length)} | ${indent}${'^'.repeat(Math.max(1, length))}`
  return `${file}:${line}:${column + 1}: ${text}\n  ${gutter} | ${lineText}\n  ${marked}`
}

/** Whatever was thrown: its message, and the frames that lie in files of the user. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}, which is no Error`
  const frames = (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    // Ours tell the author of an operator nothing.
    .filter((line) => !/\(?node:|[\\/]node_modules[\\/]/.test(line) && !line.includes(ownCode()))
    .map((line) => `  ${line.trim().replace(/\(?file:\/\/[^)\s]+/, shorten)}`)
  // Ours are sentences of their own: what was registered wrongly, and what would be right.
  const title = error instanceof KopfError ? error.message : `${error.name}: ${error.message}`
  return [title, ...frames].join('\n')
}

function shorten(address: string): string {
  const isBracketed = address.startsWith('(')
  const path = fileURLToPath(isBracketed ? address.slice(1) : address)
  return `${isBracketed ? '(' : ''}${relative(process.cwd(), path) || path}`
}

interface Findings {
  /** Whether there is an operator at all, though without handlers. */
  readonly hasOperator: boolean
  /** A named export that is an operator. */
  readonly exportName: string | undefined
}

export function nothingRegistered(names: readonly string[], { hasOperator, exportName }: Findings): KopfError {
  const where = names.map((name) => `"${name}"`).join(', ')
  const example = "kopf.on.create('kopfexamples', ({ logger }) => { … })"
  const hint = hasOperator
    ? `its operator has no handlers; register one: ${example}`
    : exportName === undefined
      ? `it has no operator; write "const kopf = new Operator()", "${example}" and "export default kopf"`
      : `its operator is not the default export; write "export default ${exportName}"`
  return new KopfError('KOPF_LOAD', `Nothing to run in ${where}: ${hint}`)
}
