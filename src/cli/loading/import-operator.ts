/**
 * Imports the modules of an operator and merges their operators into one. The operator of a module is its default export, or else the default
 * operator. Called with compiled files by load.ts and dev/operator-process.ts, and with bundled modules by the programs of `kopf build`.
 */
import { getDefaultOperator } from '../../default-operator.ts'
import type { Operator } from '../../operator.ts'
import { internalsOf, isOperator } from '../../operator-internals.ts'
import { nothingRegistered, toLoadError } from './load-errors.ts'

export interface Loaded extends AsyncDisposable {
  readonly operator: Operator
}

type Module = Readonly<Record<string, unknown>>

/** One function for each target that imports it. */
export type TargetImports = ReadonlyArray<() => Promise<Record<string, unknown>>>

/** The name of a module on the command line, for messages. */
interface NamedTarget {
  readonly name: string
}

/** Imports the targets one after the other, and merges their operators. */
export async function importOperator(targets: readonly NamedTarget[], imports: TargetImports): Promise<Operator> {
  const loaded: Module[] = []
  for (const [index, { name }] of targets.entries()) {
    loaded.push(await imports[index]!().catch((error) => Promise.reject(toLoadError(error, name))))
  }
  return mergeOperators(targets, loaded)
}

function mergeOperators(targets: readonly NamedTarget[], loaded: readonly Module[]): Operator {
  const exported = loaded.flatMap((module) => findOperator(module) ?? [])
  const fallback = getDefaultOperator()
  const all = [...new Set(hasHandlers(fallback) ? [...exported, fallback] : exported)]
  const [first, ...rest] = all.filter(hasHandlers)
  if (first === undefined) {
    const names = targets.map(({ name }) => name)
    throw nothingRegistered(names, {
      hasOperator: all.length > 0,
      exportName: loaded.map(findOperatorExport).find(Boolean),
    })
  }
  for (const other of rest) first.use(other)
  return first
}

function hasHandlers(operator: Operator): boolean {
  return internalsOf(operator).registry.handlers.length > 0
}

/** A CommonJS file has its exports under `default`, and its default export under the `default` there. */
function findOperator({ default: value }: Module): Operator | undefined {
  if (isOperator(value)) return value
  const inner = (value as { default?: unknown } | null | undefined)?.default
  return isOperator(inner) ? inner : undefined
}

function findOperatorExport(module: Module): string | undefined {
  return Object.keys(module).find((name) => name !== 'default' && isOperator(module[name]))
}
