/**
 * The concealed values among the arguments of a handler of a Secret, by their places: a copy of an object for another thread has no class
 * any more, so they are made again there. Called by packing.ts and thread-args.ts.
 */
import {
  type ConcealedDigest,
  ConcealedValue,
  readConcealed,
  toConcealed,
} from '../../core/causation/concealed-value.ts'
import { isSecret } from '../../core/causation/secrets.ts'
import { isContainer, setOwn } from '../../util/json.ts'

/** Where a concealed value is: the name of the argument, and the keys below it. */
export interface ConcealedPlace extends ConcealedDigest {
  readonly path: readonly string[]
}

type Named = { readonly [name: string]: unknown }

/** The arguments that have values of the last handled state. */
const names = ['old', 'diff']

/** The longest path is that of a diff of the whole object: `diff`, item, side, `data`, name. Nothing below is looked into. */
const maxPathLength = 5

export function findConcealed(args: Named): readonly ConcealedPlace[] {
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

/** Puts them back into a copy of the arguments. */
export function restoreConcealed(args: { [name: string]: unknown }, places: readonly ConcealedPlace[]): void {
  for (const { path, digest, key } of places) {
    let container = args
    for (const step of path.slice(0, -1)) container = container[step] as typeof args
    setOwn(container, path.at(-1)!, toConcealed({ digest, key }))
  }
}
