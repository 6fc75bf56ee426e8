/**
 * The arguments of a handler as they cross to a thread: data as it is, the names of what has a stand-in there, and of what
 * cannot cross at all. Called by conversation.ts; unpacked by thread-args.ts.
 */
import { types } from 'node:util'
import { cloneJson } from '../../util/equality.ts'
import { setOwn } from '../../util/json.ts'
import { canClone } from './cloning.ts'
import { type ConcealedPlace, findConcealed } from './concealed-places.ts'

export interface PackedArgs {
  readonly values: Readonly<Record<string, unknown>>
  /** What speaks with this side. */
  readonly standIns: readonly StandIn[]
  /** What stays behind: names of arguments, and `memo.<name>`. */
  readonly missing: readonly string[]
  /** The concealed values of a Secret, which are made again in the thread. */
  readonly concealed?: readonly ConcealedPlace[]
}

const standIns = ['logger', 'patch', 'recorder', 'signal', 'stopped', 'warnings'] as const

export type StandIn = (typeof standIns)[number]

/** Nothing but functions, and what only makes sense in the thread of the operator. */
export const homebound: readonly string[] = [
  'client',
  'clock',
  'conditions',
  'execute',
  'indices',
  'settings',
  'step',
  'subhandler',
]

/** Optimistic: it is found out when it is sent. */
export function packArgs(args: object): PackedArgs {
  return pack(args, (value) => typeof value !== 'function')
}

/** Likewise, where something could not be sent: without it. */
export function packCarefully(args: object): PackedArgs {
  return pack(args, canClone)
}

function pack(args: object, canCross: (value: unknown) => boolean): PackedArgs {
  const values: Record<string, unknown> = {}
  const missing: string[] = homebound.filter((name) => name in args)
  for (const [name, value] of Object.entries(args)) {
    if (homebound.includes(name) || isStandIn(name)) continue
    const plain = types.isProxy(value) ? cloneJson(value) : value
    if (name === 'memo') values[name] = packMemo(plain, canCross, missing)
    else if (canCross(plain)) values[name] = plain
    else missing.push(name)
  }
  const concealed = findConcealed(values)
  const packed = { values, standIns: standIns.filter((name) => name in args), missing }
  return concealed.length === 0 ? packed : { ...packed, concealed }
}

function isStandIn(name: string): boolean {
  return (standIns as readonly string[]).includes(name)
}

/** Entry by entry: a connection in it must not keep the numbers from crossing. */
function packMemo(memo: unknown, canCross: (value: unknown) => boolean, missing: string[]): object {
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(memo ?? {})) {
    if (canCross(value)) setOwn(values, name, value)
    else missing.push(`memo.${name}`)
  }
  return values
}
