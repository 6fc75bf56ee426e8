/** In a thread: the arguments of a handler, made of what has crossed. What has not says so when it is touched. */
import { KopfError } from '../../errors.ts'
import { deepFreeze } from '../../util/frozen.ts'
import { restoreConcealed } from './concealed-places.ts'
import { homebound, type PackedArgs, type StandIn } from './packing.ts'

/** As everywhere: what should be different belongs into the patch. */
const frozen = [
  'annotations',
  'body',
  'diff',
  'event',
  'headers',
  'labels',
  'meta',
  'new',
  'old',
  'resource',
  'spec',
  'sslpeer',
  'status',
  'userinfo',
]

export function unpackArgs(packed: PackedArgs, standIns: Readonly<Record<StandIn, unknown>>): object {
  const args: Record<string, unknown> = { ...packed.values }
  restoreConcealed(args, packed.concealed ?? [])
  for (const name of frozen) deepFreeze(args[name])
  for (const name of packed.standIns) args[name] = standIns[name]
  for (const name of packed.missing) {
    const inMemo = name.startsWith('memo.')
    forbid((inMemo ? args['memo'] : args) as object, inMemo ? name.slice('memo.'.length) : name, () => refuse(name))
  }
  return args
}

/** Not among what is listed: whoever copies all of it does not touch it. */
function forbid(target: object, key: string, get: () => never): void {
  Object.defineProperty(target, key, { get, enumerable: false, configurable: true })
}

function refuse(name: string): never {
  const why = homebound.includes(name)
    ? 'it stays with the operator; do that part in an ordinary handler'
    : 'there is something in it that cannot be copied to another thread, such as a function; use plain data'
  throw new KopfError('KOPF_WORKER', `Cannot use "${name}" in a worker: ${why}`)
}
