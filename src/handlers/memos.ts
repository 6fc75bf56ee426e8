/**
 * The memo of an object: a copy of the operator's, made when somebody first asks for it. What cannot be copied is refused
 * when the operator starts, before a handler stumbles over it. Called by run.ts.
 */

import { KopfError } from '../errors.ts'
import { describeError } from '../util/log/describe-error.ts'

interface Cloneable {
  clone(): unknown
}

const advice = 'give it a method clone() that returns a copy, or "this" for one memo that all objects share'

/** One level deep, with its class and its accessors; a memo that knows better has a method `clone`. */
export function copyMemo(memo: object): object {
  if (hasClone(memo)) return clone(memo)
  return Object.create(prototypeOf(memo), Object.getOwnPropertyDescriptors(memo)) as object
}

/** Refuses a memo whose copies would be broken. */
export function checkMemo(memo: unknown): void {
  checkObject(memo, 'the factory of the memo')
  if (hasClone(memo)) return
  for (const { name, text } of classesOf(memo)) {
    if (text.endsWith('{ [native code] }'))
      throwMemoError(`the fields of ${name} are not all there is of it; ${advice}`)
    // Nothing else tells of them; a dot and a hash stand together only where one is used.
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
  if (value instanceof Promise) throwMemoError(`${source} is async; what takes time belongs into a startup handler`)
  if (typeof value === 'object' && value !== null) return
  throwMemoError(`${source} returned ${value === null ? 'null' : typeof value}; it returns an object`)
}

/** From its own class up, but for the one that all objects have: by its name, since a sandbox has one of its own. */
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
