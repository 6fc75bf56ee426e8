/** What is written in kubeconfigs: entries found by name in the first file that has them, and their fields, checked. Pure. */
import { delimiter, dirname, resolve } from 'node:path'
import { KopfError } from '../errors.ts'
import { getOwn, isPlainObject, type Json } from '../util/json.ts'

type Entry = { readonly [key: string]: Json }

export interface Source {
  readonly path: string
  readonly config: Entry
}

export interface Found {
  /** The file it was found in: relative paths in it start there. */
  readonly path: string
  /** What it is, for messages: `user "admin"`. */
  readonly title: string
  readonly entry: Entry
}

export function findCurrentContext(sources: readonly Source[]): string | undefined {
  for (const { config } of sources) {
    const value = getOwn(config, 'current-context')
    if (typeof value === 'string' && value !== '') return value
  }
  return undefined
}

/** The first file that has it wins. */
export function findEntry(sources: readonly Source[], kind: 'context' | 'cluster' | 'user', name: string): Found {
  for (const { path, config } of sources) {
    const entries = getOwn(config, `${kind}s`)
    const found = Array.isArray(entries) ? entries.find((one) => isPlainObject(one) && one['name'] === name) : undefined
    if (found === undefined) continue
    const entry = getOwn(found as Entry, kind) ?? {}
    const title = `${kind} ${JSON.stringify(name)}`
    if (!isPlainObject(entry)) throw refusal(path, `the ${title} is not a mapping`)
    return { path, title, entry }
  }
  const paths = sources.map(({ path }) => path).join(delimiter)
  throw refusal(paths, `there is no ${kind} ${JSON.stringify(name)} in it`)
}

/** A mapping inside of an entry; undefined where it is absent or null. */
export function part(found: Found, key: string): Found | undefined {
  const entry = getOwn(found.entry, key)
  if (entry === undefined || entry === null) return undefined
  if (!isPlainObject(entry)) refuseField(found, key, 'is not a mapping')
  return { path: found.path, title: `"${key}" of the ${found.title}`, entry }
}

/** Data before a file, as in kubectl. */
export function pem<P extends string, D extends string>(
  found: Found,
  key: string,
  pathName: P,
  dataName: D,
): { [K in P | D]?: string } {
  const data = text(found, `${key}-data`)
  const file = text(found, key)
  const named =
    data !== undefined ? { [dataName]: data } : file === undefined ? {} : { [pathName]: beside(found, file) }
  return named as { [K in P | D]?: string }
}

/** Relative paths start at the file they are written in. */
export function beside({ path }: Found, file: string): string {
  return resolve(dirname(path), file)
}

export function need(found: Found, key: string): string {
  return text(found, key) ?? refuseField(found, key, 'is missing')
}

/** Undefined where it is absent or empty, which kubectl does not tell apart. */
export function text(found: Found, key: string): string | undefined {
  const value = getOwn(found.entry, key)
  if (value === undefined || value === null || value === '') return undefined
  return typeof value === 'string' ? value : refuseField(found, key, 'is not text; put it into quotes')
}

export function texts(found: Found, key: string): readonly string[] {
  const value = getOwn(found.entry, key) ?? []
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value as string[]
  return refuseField(found, key, 'is not a list of texts; put each of them into quotes')
}

export function flag(found: Found, key: string): boolean {
  const value = getOwn(found.entry, key) ?? false
  return typeof value === 'boolean' ? value : refuseField(found, key, 'is neither true nor false')
}

export function refuseField({ path, title }: Found, key: string, why: string): never {
  throw refusal(path, `"${key}" of the ${title} ${why}`)
}

export function refusal(path: string, why: string, cause?: unknown): KopfError {
  return new KopfError('KOPF_KUBECONFIG', `Cannot log in with the kubeconfig "${path}": ${why}`, { cause })
}
