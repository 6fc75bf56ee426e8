/**
 * Finds the concealed values in the arguments of a Secret's handler, by path, and restores them in the thread: a structured clone loses the
 * class of an object. Called by serialize-args.ts and thread/call.ts.
 */

import { isSecret } from '../causation/conceal-secrets.ts'
import { type ConcealedDigest, ConcealedValue, readConcealed, toConcealed } from '../causation/concealed-value.ts'
import { isContainer, setOwn } from '../util/json/json.ts'

/** The path of a concealed value: the name of the argument, and the keys below it. */
export interface ConcealedPlace extends ConcealedDigest {
  readonly path: readonly string[]
}

type NamedValues = { readonly [name: string]: unknown }

/** The arguments with values of the last handled state. */
const names = ['old', 'diff']

/** The length of the longest path, in a diff of the whole object: `diff`, item, side, `data`, name. Deeper values are not searched. */
const maxPathLength = 5

export function findConcealed(args: NamedValues): readonly ConcealedPlace[] {
  if (!isContainer(args['body']) || !isSecret(args['body'])) return []
  const places: ConcealedPlace[] = []
  const pending = names.map((name) => ({ path: [name], value: args[name] }))
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { path, value } = next
    if (value instanceof ConcealedValue) places.push({ path, ...readConcealed(value) })
    else if (isContainer(value) && path.length < maxPathLength) {
      for (const [key, inner] of Object.entries(value)) pending.push({ path: [...path, key], value: inner })
    }
  }
  return places
}

/** Puts concealed values back into a copy of the arguments. */
export function restoreConcealed(args: { [name: string]: unknown }, places: readonly ConcealedPlace[]): void {
  for (const { path, digest, key } of places) {
    let container = args
    for (const step of path.slice(0, -1)) container = container[step] as typeof args
    setOwn(container, path.at(-1)!, toConcealed({ digest, key }))
  }
}
