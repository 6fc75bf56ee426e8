/** In a thread: from the address of a module to the function in it. */
import { KopfError } from '../../errors.ts'
import { suggestName } from '../../util/suggestions.ts'
import type { LoadedModule } from './messages.ts'
import { describeModule } from './module-files.ts'

type Exports = Readonly<Record<string, unknown>>

export type WorkerFunction = (args: object) => unknown

export async function importFunction(module: LoadedModule): Promise<WorkerFunction> {
  const exports = (await import(module.address).catch((error) => Promise.reject(explain(error, module)))) as Exports
  const found = findExport(exports, module.exportName)
  if (found !== undefined) return found
  const names = Object.keys(exports)
  const meant = suggestName(module.exportName, names)
  const hint = meant === undefined ? `it exports ${names.join(', ') || 'nothing'}` : `did you mean "${meant}"?`
  throw new KopfError(
    'KOPF_WORKER',
    `Cannot run ${describeModule(module)} in a worker: it exports no such function; ${hint}`,
  )
}

/** A CommonJS file has its exports under `default`, and its default export under the `default` there. */
function findExport(exports: Exports, name: string): WorkerFunction | undefined {
  const inner = exports['default'] as Exports | null | undefined
  const found = [exports[name], inner?.[name]].find((one) => typeof one === 'function')
  return found as WorkerFunction | undefined
}

/** Errors of the module itself are told as they are: their stacks lead to the place. */
function explain(error: unknown, module: LoadedModule): unknown {
  if ((error as { code?: unknown } | null | undefined)?.code !== 'ERR_UNKNOWN_FILE_EXTENSION') return error
  const why =
    `Node ${process.versions.node} cannot run TypeScript in threads; run the operator with "kopf run", ` +
    'compile it to JavaScript beforehand, or use Node 22.18 or newer'
  return new KopfError('KOPF_WORKER', `Cannot run ${describeModule(module)} in a worker: ${why}`, { cause: error })
}
