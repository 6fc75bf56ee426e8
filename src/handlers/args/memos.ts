/**
 * Copies the memo of the operator for each object, at the first access. `checkMemo` rejects a memo that cannot be copied when the operator
 * starts. Called by run/run.ts.
 */

import { KopfError } from '../../errors.ts'
import { describeError } from '../../util/log/describe-error.ts'

interface Cloneable {
  clone(): unknown
}

const advice = 'give it a method clone() that returns a copy, or "this" for one memo that all objects share'

/** Returns the result of the memo's `clone()`, or else a shallow copy with the same class and accessors. */
export function copyMemo(memo: object): object {
  if (hasClone(memo)) return clone(memo)
  return Object.create(prototypeOf(memo), Object.getOwnPropertyDescriptors(memo)) as object
}

/** Throws for a memo whose shallow copies would not work: of a built-in class such as `Map`, or of a class with private fields. */
export function checkMemo(memo: unknown): void {
  checkObject(memo, 'the factory of the memo')
  if (hasClone(memo)) return
  for (const { name, text } of classesOf(memo)) {
    if (text.endsWith('{ [native code] }'))
      throwMemoError(`the fields of ${name} do not hold its whole state; ${advice}`)
    // JavaScript has no reflection for private fields. In source text, ".#" occurs only where a private field is used.
    if (/\.#[\p{ID_Start}$_]/u.test(text)) throwMemoError(`copies do not have the private fields of ${name}; ${advice}`)
  }
}

function hasClone(memo: object): memo is Cloneable {
  return typeof (memo as Partial<Cloneable>).clone === 'function'
}

function clone(memo: Cloneable): object {
  let copy: unknown
  try {
    copy = memo.clone()
  } catch (error) {
    throwMemoError(`its clone() failed: ${describeError(error)}`, error)
  }
  checkObject(copy, 'its clone()')
  return copy
}

function checkObject(value: unknown, source: string): asserts value is object {
  if (value instanceof Promise) throwMemoError(`${source} is async; move slow work into a startup handler`)
  if (typeof value === 'object' && value !== null) return
  throwMemoError(`${source} returned ${value === null ? 'null' : typeof value}; it must return an object`)
}

/** The classes of the memo, without `Object`. Compared by name, since another realm has its own `Object`. */
function classesOf(memo: object): { readonly name: string; readonly text: string }[] {
  const prototype = prototypeOf(memo)
  if (prototype === null) return []
  const { constructor: maker } = prototype
  const isClass = typeof maker === 'function' && maker.name !== 'Object'
  const own = isClass ? [{ name: maker.name, text: Function.prototype.toString.call(maker) }] : []
  return [...own, ...classesOf(prototype)]
}

function prototypeOf(value: object): object | null {
  return Object.getPrototypeOf(value) as object | null
}

function throwMemoError(problem: string, cause?: unknown): never {
  throw new KopfError('KOPF_MEMO', `Cannot give each object a copy of the memo: ${problem}`, { cause })
}
