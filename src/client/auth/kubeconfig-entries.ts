/** Finds entries of kubeconfigs by name and reads their fields with type checks. Pure; used by kubeconfig.ts and exec-plugin-config.ts. */
import { delimiter, dirname, resolve } from 'node:path'
import { KopfError } from '../../errors.ts'
import { getObjects, getOwn, getString, isPlainObject, type Json } from '../../util/json/json.ts'
import { listNames, suggestName } from '../../util/text/did-you-mean.ts'

type KubeconfigEntry = { readonly [key: string]: Json }

export interface KubeconfigSource {
  readonly path: string
  readonly config: KubeconfigEntry
}

export interface FoundEntry {
  /** The kubeconfig with the entry; relative paths in the entry are relative to it. */
  readonly path: string
  /** The entry in messages: `user "admin"`. */
  readonly title: string
  readonly entry: KubeconfigEntry
}

export function findCurrentContext(sources: readonly KubeconfigSource[]): string | undefined {
  for (const { config } of sources) {
    const value = getString(config, 'current-context')
    if (value) return value
  }
  return undefined
}

/** The names of all contexts, in the order of the files. */
export function listContexts(sources: readonly KubeconfigSource[]): string[] {
  const names = sources.flatMap(({ config }) =>
    getObjects(config, 'contexts').map((one) => getString(one, 'name') ?? ''),
  )
  return [...new Set(names)].filter((name) => name !== '')
}

/** The entry of that name in the first file that has one, as in kubectl. */
export function findEntry(
  sources: readonly KubeconfigSource[],
  kind: 'context' | 'cluster' | 'user',
  name: string,
): FoundEntry {
  for (const { path, config } of sources) {
    const found = getObjects(config, `${kind}s`).find((one) => one['name'] === name)
    if (found === undefined) continue
    const entry = getOwn(found, kind) ?? {}
    const title = `${kind} ${JSON.stringify(name)}`
    if (!isPlainObject(entry)) throw kubeconfigError(path, `the ${title} is not a mapping`)
    return { path, title, entry }
  }
  const paths = sources.map(({ path }) => path).join(delimiter)
  const names = sources.flatMap(({ config }) =>
    getObjects(config, `${kind}s`).flatMap((one) => getString(one, 'name') ?? []),
  )
  throw kubeconfigError(paths, `there is no ${kind} ${JSON.stringify(name)} in it${describeOthers(kind, name, names)}`)
}

/** The names that there are, and the most similar one. */
function describeOthers(kind: string, name: string, names: readonly string[]): string {
  if (names.length === 0) return `, and no other ${kind}`
  const meant = suggestName(name, names)
  return `; it has ${listNames(names)}${meant === undefined ? '' : `; did you mean "${meant}"?`}`
}

/** A mapping inside an entry; undefined if it is absent or null. */
export function findSection(found: FoundEntry, key: string): FoundEntry | undefined {
  const entry = getOwn(found.entry, key)
  if (entry === undefined || entry === null) return undefined
  if (!isPlainObject(entry)) throwFieldError(found, key, 'is not a mapping')
  return { path: found.path, title: `"${key}" of the ${found.title}`, entry }
}

/** Inline data, otherwise the path of a file, as in kubectl. */
export function pemOptions<P extends string, D extends string>(
  found: FoundEntry,
  key: string,
  pathName: P,
  dataName: D,
): { [K in P | D]?: string } {
  const data = optionalText(found, `${key}-data`)
  const file = optionalText(found, key)
  const named =
    data !== undefined ? { [dataName]: data } : file === undefined ? {} : { [pathName]: resolvePath(found, file) }
  return named as { [K in P | D]?: string }
}

/** Resolves a path relative to the kubeconfig. */
export function resolvePath({ path }: FoundEntry, file: string): string {
  return resolve(dirname(path), file)
}

export function requireText(found: FoundEntry, key: string): string {
  return optionalText(found, key) ?? throwFieldError(found, key, 'is missing')
}

/** Undefined if the field is absent or empty: kubectl makes no difference. */
export function optionalText(found: FoundEntry, key: string): string | undefined {
  const value = getOwn(found.entry, key)
  if (value === undefined || value === null || value === '') return undefined
  return typeof value === 'string' ? value : throwFieldError(found, key, 'is not text; put it into quotes')
}

export function textList(found: FoundEntry, key: string): readonly string[] {
  const value = getOwn(found.entry, key) ?? []
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value as string[]
  return throwFieldError(found, key, 'is not a list of texts; put each of them into quotes')
}

export function optionalFlag(found: FoundEntry, key: string): boolean {
  const value = getOwn(found.entry, key) ?? false
  return typeof value === 'boolean' ? value : throwFieldError(found, key, 'is neither true nor false')
}

export function throwFieldError({ path, title }: FoundEntry, key: string, why: string): never {
  throw kubeconfigError(path, `"${key}" of the ${title} ${why}`)
}

export function kubeconfigError(path: string, why: string, cause?: unknown): KopfError {
  return new KopfError('KOPF_KUBECONFIG', `Cannot log in with the kubeconfig "${path}": ${why}`, { cause })
}
