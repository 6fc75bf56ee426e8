/**
 * Converts essences and diffs of Secrets for handlers and filters. Inside the framework, Secret values are digests wherever
 * essences are compared and stored. Handlers get the real values in the new state and concealed ones in the old state. Other
 * kinds are returned unchanged. Pure.
 */
import type { Json } from '../kube/objects.ts'
import { isPlainObject } from '../util/json/json.ts'
import { resolvePath } from '../util/json/paths.ts'
import type { Diff, DiffItem, Essence } from './cause.ts'
import { isSecret, isSecretDigest, secretFields, secretKey } from './conceal-secrets.ts'
import { digestSecretValue, toConcealed } from './concealed-value.ts'
import { createDiffItem } from './diff-item.ts'

/** Two states of one object and their difference. */
export interface ComparedStates {
  readonly old?: Essence | undefined
  readonly new?: Essence | undefined
  readonly diff?: Diff
}

export interface RevealOptions {
  /** The current object. */
  readonly body: object
  /** The old state as stored. Its plain-text values are shown to handlers. Without it, all old values are concealed. */
  readonly stored?: Essence | undefined
}

/** Returns the representation of one value of a Secret. */
type Show = (field: string, name: string, value: unknown) => unknown

/** Converts a comparison for handlers. Takes time linear in the size of a Secret, and none for other kinds. */
export function revealSecret<C extends ComparedStates>(compared: C, { body, stored }: RevealOptions): C {
  if (!isSecret(body)) return compared
  const { old, new: current, diff } = compared
  const showOld = concealing(secretKey(body), stored)
  const showNew: Show = (field, name, value) => resolvePath(body, [field, name]) ?? value
  return {
    ...compared,
    ...(old !== undefined && { old: showEssence(old, showOld) }),
    ...(current !== undefined && { new: showEssence(current, showNew) }),
    ...(diff !== undefined && { diff: diff.map((item) => showItem(item, showOld, showNew)) }),
  }
}

/** The diff of a Secret without any values, for output. */
export function concealDiff(diff: Diff, body: object): Diff {
  if (!isSecret(body)) return diff
  const show = concealing(secretKey(body), undefined)
  return diff.map((item) => showItem(item, show, show))
}

function concealing(key: string, stored: Essence | undefined): Show {
  return (field, name, value) => {
    if (typeof value !== 'string') return value
    const clear = resolvePath(stored, [field, name])
    const isClear = typeof clear === 'string' && !isSecretDigest(clear)
    return isClear && digestSecretValue(clear, key) === value ? clear : toConcealed({ digest: value, key })
  }
}

function showItem(item: DiffItem, showOld: Show, showNew: Show): DiffItem {
  const [operation, path, old, current] = item
  if (path.length > 0 && !secretFields.includes(path[0]!)) return item
  return createDiffItem(operation, path, showAt(path, old, showOld), showAt(path, current, showNew))
}

function showAt([field, name]: readonly string[], value: unknown, show: Show): unknown {
  if (field !== undefined && name !== undefined) return value === undefined ? value : show(field, name, value)
  if (!isPlainObject(value)) return value
  return field === undefined ? showEssence(value, show) : showField(field, value, show)
}

function showEssence(essence: Essence, show: Show): Essence {
  const result: { [key: string]: unknown } = { ...essence }
  for (const field of secretFields) {
    const values = essence[field]
    if (isPlainObject(values)) result[field] = showField(field, values, show)
  }
  return result as Essence
}

function showField(field: string, values: { readonly [name: string]: Json }, show: Show): object {
  // Unlike an assignment, this treats `__proto__` as an ordinary key.
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, show(field, name, value)]))
}
