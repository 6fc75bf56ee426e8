import { Operator } from 'kopf'

const kopf = new Operator({ memo: () => ({ seen: new Set<string>(), startedAt: new Date() }) })

kopf.on.event('kopfexamples', ({ name, memo }) => void memo.seen.add(name))

/** What the liveness endpoint tells, by id; asked when somebody looks, and not again for ten seconds. */
kopf.on.probe({ id: 'objects' }, ({ memo }) => memo.seen.size)
kopf.on.probe({ id: 'startedAt' }, ({ memo }) => memo.startedAt.toISOString())

export default kopf
