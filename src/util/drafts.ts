/**
 * Copies of objects that functions may edit. Of a large object, a member that is kept as text is only copied when a function reads it:
 * most functions change a finalizer or a condition, and neither parse nor compare the rest. Used for patches.
 */
import { cloneJson } from './equality.ts'
import { isPlainObject, setOwn } from './json.ts'
import { lazyMemberAt, weightOf } from './lazy-json.ts'
import type { LazyMember } from './lazy-member.ts'

type Members = { [key: string]: unknown }

/** Drafts of large objects. */
const drafts = new WeakSet<object>()
/** Getters of members of drafts that were neither read nor written so far. */
const untouched = new WeakSet<() => unknown>()

export function toDraft<T extends object>(object: T): T {
  if (weightOf(object).bytes === 0) return cloneJson(object)
  const draft = draftMembers(object as Members)
  drafts.add(draft)
  return draft as T
}

/** The members of an object that can have been changed in a draft of it: all but those that are still kept as text in the draft. */
export function pickTouched<T extends object>(object: T, draft: object): T {
  return drafts.has(draft) ? (pickMembers(object as Members, draft as Members) as T) : object
}

function draftMembers(object: Members): Members {
  const draft: Members = {}
  for (const key of Object.keys(object)) {
    const member = lazyMemberAt(object, key)
    if (member !== undefined) defineUntouched(draft, key, member)
    else setOwn(draft, key, hasMembers(object, key) ? draftMembers(object[key] as Members) : cloneJson(object[key]))
  }
  return draft
}

/** Only the metadata has members of its own that are kept as text. */
function hasMembers(object: Members, key: string): boolean {
  return key === 'metadata' && isPlainObject(object[key])
}

function defineUntouched(draft: Members, key: string, member: LazyMember): void {
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

function pickMembers(object: Members, draft: Members): Members {
  const picked: Members = {}
  for (const key of Object.keys(object)) {
    if (isUntouched(draft, key)) continue
    const isNested = hasMembers(object, key) && hasMembers(draft, key)
    setOwn(picked, key, isNested ? pickMembers(object[key] as Members, draft[key] as Members) : object[key])
  }
  return picked
}

function isUntouched(draft: Members, key: string): boolean {
  const getter = Object.getOwnPropertyDescriptor(draft, key)?.get
  return getter !== undefined && untouched.has(getter)
}
