/**
 * Serializes the arguments of a handler for a worker thread: plain data, the names of arguments that the thread replaces by remote objects, and
 * the names of arguments that are not available there. Called by host-call.ts; thread/call.ts deserializes them.
 */
import { types } from 'node:util'
import { cloneJson } from '../util/json/deep-equal.ts'
import { setOwn } from '../util/json/json.ts'
import { type ConcealedPlace, findConcealed } from './concealed-paths.ts'

export interface SerializedArgs {
  readonly values: Readonly<Record<string, unknown>>
  /** Arguments that the thread replaces by objects which communicate with the operator. */
  readonly remote: readonly RemoteValue[]
  /** Arguments, and memo entries as `memo.<name>`, that are not available in the thread. */
  readonly missing: readonly string[]
  /** The concealed values of a Secret, which the thread restores. */
  readonly concealed?: readonly ConcealedPlace[]
}

const remoteValues = ['logger', 'patch', 'recorder', 'signal', 'stopped', 'warnings'] as const

export type RemoteValue = (typeof remoteValues)[number]

/** Arguments that consist of functions, or that work only in the operator's thread. */
export const notTransferable: readonly string[] = [
  'client',
  'clock',
  'conditions',
  'execute',
  'indices',
  'metrics',
  'now',
  'settings',
  'step',
  'subhandler',
]

/** Fast: does not check whether values can be cloned. Sending them fails if one cannot. */
export function serializeArgs(args: object): SerializedArgs {
  return serialize(args, (value) => typeof value !== 'function')
}

/** Slow: leaves out all values that cannot be cloned. Used after sending has failed. */
export function serializeCloneable(args: object): SerializedArgs {
  return serialize(args, canClone)
}

function serialize(args: object, canSend: (value: unknown) => boolean): SerializedArgs {
  const values: Record<string, unknown> = {}
  const missing: string[] = notTransferable.filter((name) => name in args)
  for (const [name, value] of Object.entries(args)) {
    if (notTransferable.includes(name) || isRemoteValue(name)) continue
    const plain = types.isProxy(value) ? cloneJson(value) : value
    if (name === 'memo') values[name] = serializeMemo(plain, canSend, missing)
    else if (canSend(plain)) values[name] = plain
    else missing.push(name)
  }
  const concealed = findConcealed(values)
  const serialized = { values, remote: remoteValues.filter((name) => name in args), missing }
  return concealed.length === 0 ? serialized : { ...serialized, concealed }
}

function isRemoteValue(name: string): boolean {
  return (remoteValues as readonly string[]).includes(name)
}

/** Serializes a memo entry by entry: one that cannot be cloned, such as a connection, must not affect the others. */
function serializeMemo(memo: unknown, canSend: (value: unknown) => boolean, missing: string[]): object {
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(memo ?? {})) {
    if (canSend(value)) setOwn(values, name, value)
    else missing.push(`memo.${name}`)
  }
  return values
}

/** Whether a value can be sent to another thread. */
export function canClone(value: unknown): boolean {
  if (typeof value === 'function' || typeof value === 'symbol') return false
  if (typeof value !== 'object' || value === null) return true
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}
