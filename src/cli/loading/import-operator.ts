/**
 * Imports the modules of an operator and merges their operators into one. The operator of a module is its default export, or else the default
 * operator. Called with compiled files by load.ts and dev/operator-process.ts, and with bundled modules by the programs of `kopf build`.
 */
import { readFile } from 'node:fs/promises'
import { getDefaultOperator } from '../../default-operator.ts'
import type { Operator } from '../../operator.ts'
import { internalsOf, isOperator, recordOperators } from '../../operator-internals.ts'
import { notExported, nothingRegistered, toLoadError } from './load-errors.ts'

export interface Loaded extends AsyncDisposable {
  readonly operator: Operator
}

type Module = Readonly<Record<string, unknown>>

/** One function for each target that imports it. */
export type TargetImports = ReadonlyArray<() => Promise<Record<string, unknown>>>

/** The name of a module on the command line, for messages; and the path of its source, if it is a file. */
interface NamedTarget {
  readonly name: string
  readonly address?: string
  readonly isFile?: boolean
}

interface LoadedTarget extends NamedTarget {
  readonly module: Module
  /** The operators that were created while the target was imported, exported or not. */
  readonly created: readonly Operator[]
}

/** Imports the targets one after the other, and merges their operators. */
export async function importOperator(targets: readonly NamedTarget[], imports: TargetImports): Promise<Operator> {
  const loaded: LoadedTarget[] = []
  for (const [index, target] of targets.entries()) {
    using record = recordOperators()
    const module = await imports[index]!().catch((error) => Promise.reject(toLoadError(error, target.name)))
    loaded.push({ ...target, module, created: record.operators })
  }
  return mergeOperators(loaded)
}

async function mergeOperators(loaded: readonly LoadedTarget[]): Promise<Operator> {
  const exported = loaded.flatMap(({ module }) => findOperator(module) ?? [])
  const fallback = getDefaultOperator()
  const all = [...new Set(hasHandlers(fallback) ? [...exported, fallback] : exported)]
  for (const target of loaded) await checkExport(target, all)
  const [first, ...rest] = all.filter(hasHandlers)
  if (first === undefined) {
    const names = loaded.map(({ name }) => name)
    throw nothingRegistered(names, all.length > 0)
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

/**
 * Throws if the target has no operator as its default export but creates one whose handlers would never be called: neither it nor an operator that
 * uses it is in `known`.
 */
async function checkExport(target: LoadedTarget, known: readonly Operator[]): Promise<void> {
  const { name, module, created } = target
  if (findOperator(module) !== undefined) return
  const called = new Set(known.flatMap(functionsOf))
  const unused = created.filter((one) => !known.includes(one) && functionsOf(one).some((fn) => !called.has(fn)))
  if (unused.length === 0) return
  const exportName = Object.keys(module).find((key) => key !== 'default' && unused.includes(module[key] as Operator))
  const variables = exportName === undefined ? await findOperatorVariables(target) : [exportName]
  throw notExported(name, { variables, count: unused.length, isNamedExport: exportName !== undefined })
}

function functionsOf(operator: Operator): unknown[] {
  return internalsOf(operator).registry.handlers.map(({ fn }) => fn)
}

/** The variables of a file that hold an operator, for an error message. None if the operator is created in an imported file. */
async function findOperatorVariables({ address, isFile }: NamedTarget): Promise<string[]> {
  const source = isFile && address !== undefined ? await readFile(address, 'utf8').catch(() => '') : ''
  return [...source.matchAll(/\b(?:const|let|var)\s+([\w$]+)[^=;\n]{0,100}=\s*new\s+(?:[\w$]+\.)?Operator\b/g)].map(
    ([, variable]) => variable!,
  )
}
