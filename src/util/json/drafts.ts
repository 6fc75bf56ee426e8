/**
 * Editable copies of objects for patch functions. A member of a large object that is kept as text is copied only when it is read: most
 * functions change a finalizer or a condition, and the other members need not be parsed or compared.
 */
import { cloneJson } from './deep-equal.ts'
import { isPlainObject, setOwn } from './json.ts'
import { lazyMemberAt, weightOf } from './lazy-json.ts'
import type { LazyMember } from './lazy-member.ts'

type DraftMembers = { [key: string]: unknown }

/** Drafts of large objects. */
const drafts = new WeakSet<object>()
/** Getters of draft members that were neither read nor written. */
const untouched = new WeakSet<() => unknown>()

export function toDraft<T extends object>(object: T): T {
  if (weightOf(object).bytes === 0) return cloneJson(object)
  const draft = draftMembers(object as DraftMembers)
  drafts.add(draft)
  return draft as T
}

/** The members of an object that may differ in its draft: all except members that are still text in the draft. */
export function pickTouched<T extends object>(object: T, draft: object): T {
  return drafts.has(draft) ? (pickMembers(object as DraftMembers, draft as DraftMembers) as T) : object
}

function draftMembers(object: DraftMembers): DraftMembers {
  const draft: DraftMembers = {}
  for (const key of Object.keys(object)) {
    const member = lazyMemberAt(object, key)
    if (member !== undefined) defineUntouched(draft, key, member)
    else
      setOwn(draft, key, hasMembers(object, key) ? draftMembers(object[key] as DraftMembers) : cloneJson(object[key]))
  }
  return draft
}

/** Only `metadata` can have members that are kept as text. */
function hasMembers(object: DraftMembers, key: string): boolean {
  return key === 'metadata' && isPlainObject(object[key])
}

function defineUntouched(draft: DraftMembers, key: string, member: LazyMember): void {
  const set = (value: unknown) => {
    Object.defineProperty(draft, key, { value, writable: true, enumerable: true, configurable: true })
  }
  const get = () => {
    const value = member.copy()
    set(value)
    return value
  }
  untouched.add(get)
  Object.defineProperty(draft, key, { get, set, enumerable: true, configurable: true })
}

function pickMembers(object: DraftMembers, draft: DraftMembers): DraftMembers {
  const picked: DraftMembers = {}
  for (const key of Object.keys(object)) {
    if (isUntouched(draft, key)) continue
    const isNested = hasMembers(object, key) && hasMembers(draft, key)
    setOwn(picked, key, isNested ? pickMembers(object[key] as DraftMembers, draft[key] as DraftMembers) : object[key])
  }
  return picked
}

function isUntouched(draft: DraftMembers, key: string): boolean {
  const getter = Object.getOwnPropertyDescriptor(draft, key)?.get
  return getter !== undefined && untouched.has(getter)
}
