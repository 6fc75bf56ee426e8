/** Describes why a file could not be loaded, with positions in the user's files and without frames of this package. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Message } from 'esbuild'
import { KopfError } from '../../errors.ts'
import { ownCode } from '../../util/process/package-files.ts'

/** The number of compiler errors that are shown: the first ones usually cause the others. */
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

/** Whether Node could not resolve "kopf" in the project and its parent folders. */
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

/** `file:line:column`, which editors and terminals turn into a link, and the source line with a mark below. */
function formatMessage({ text, location }: Message): string {
  if (location === null) return text
  const { file, line, column, length, lineText } = location
  const gutter = String(line)
  // Tabs are kept, so that the mark is below the error.
  const indent = lineText.slice(0, column).replace(/[^\t]/g, ' ')
  const marked = `${' '.repeat(gutter.length)} | ${indent}${'^'.repeat(Math.max(1, length))}`
  return `${file}:${line}:${column + 1}: ${text}\n  ${gutter} | ${lineText}\n  ${marked}`
}

/** The message of a thrown value, and the stack frames in the user's files. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}, which is not an Error`
  const frames = (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    // Frames of Node and of this package do not help the user.
    .filter((line) => !/\(?node:|[\\/]node_modules[\\/]/.test(line) && !line.includes(ownCode()))
    .map((line) => `  ${line.trim().replace(/\(?file:\/\/[^)\s]+/, toRelativePath)}`)
  // The messages of our errors are complete sentences and need no class name.
  const title = error instanceof KopfError ? error.message : `${error.name}: ${error.message}`
  return [title, ...frames].join('\n')
}

function toRelativePath(address: string): string {
  const isBracketed = address.startsWith('(')
  const path = fileURLToPath(isBracketed ? address.slice(1) : address)
  return `${isBracketed ? '(' : ''}${relative(process.cwd(), path) || path}`
}

interface UnusedOperators {
  /** The variables that hold the operators, as far as the file shows them. */
  readonly variables: readonly string[]
  readonly count: number
  /** Whether the operator is exported, but not by default. */
  readonly isNamedExport: boolean
}

/** The file creates operators with handlers that would never be called. */
export function notExported(name: string, { variables, count, isNamedExport }: UnusedOperators): KopfError {
  const [first = 'kopf', second = 'other'] = variables
  const problem = isNamedExport
    ? `its operator "${first}" is exported by name, not by default`
    : count === 1
      ? 'it creates an operator, but does not export it'
      : `it creates ${count} operators with handlers, but exports none of them`
  const others = count === 1 || isNamedExport ? '' : ` and "${first}.use(${second})", to run them as one`
  return new KopfError('KOPF_LOAD', `Cannot run "${name}": ${problem}; add "export default ${first}"${others}`)
}

/** `hasOperator`: whether there is an operator, but without handlers. */
export function nothingRegistered(names: readonly string[], hasOperator: boolean): KopfError {
  const where = names.map((name) => `"${name}"`).join(', ')
  const example = "kopf.on.create('kopfexamples', ({ logger }) => { … })"
  const hint = hasOperator
    ? `its operator has no handlers; register one: ${example}`
    : `it has no operator; write "const kopf = new Operator()", "${example}" and "export default kopf"`
  return new KopfError('KOPF_LOAD', `Nothing to run in ${where}: ${hint}`)
}
