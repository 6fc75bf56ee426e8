/** The same operator as handover.py: each handler is for objects with one label. PHASE is first or second. */
import { Operator, PermanentError, TemporaryError } from 'kopf'

const group = process.env['GROUP'] as string
const isFirst = process.env['PHASE'] === 'first'
const widgets = [group, 'v1', 'widgets'] as const
const by = 'ours'

const kopf: Operator = new Operator()
export default kopf

const of = (name: string) => ({ labels: { case: name } })

function notYet(): void {
  if (isFirst) throw new TemporaryError('not yet', { delay: 0.3 })
}

kopf.on.create(widgets, { ...of('retries'), id: 'retries' }, ({ retry, started }) => {
  notYet()
  return { by, retry, started: started.toISOString() }
})

kopf.on.create(widgets, { ...of('long'), id: 'long'.repeat(20) }, ({ retry }) => {
  notYet()
  return { by, retry }
})

function handled() {
  return { by, text: 'grüße', number: 9007199254740993n, list: [1, null, { a: 1.5 }] }
}
kopf.on.create(widgets, { ...of('handled'), id: 'handled' }, handled)
kopf.on.update(widgets, { ...of('handled'), id: 'handled' }, handled)

function plain() {
  return { by }
}
kopf.on.create([group, 'v1', 'plains'], { id: 'handled' }, plain)
kopf.on.update([group, 'v1', 'plains'], { id: 'handled' }, plain)

kopf.on.create(widgets, { ...of('failed'), id: 'failed' }, ({ patch }) => {
  patch.status.by = by
  throw new PermanentError('never')
})

kopf.on.create(widgets, { ...of('changed'), id: 'made' }, () => ({ by }))

kopf.on.update(widgets, { ...of('changed'), id: 'changed' }, ({ diff, old, new: now }) => {
  const items = diff.map(([op, field, was, is]) => [op, [...field], was ?? null, is ?? null])
  const sizeOf = (body: unknown) => (body as { spec: { size: number } }).spec.size
  return { by, diff: items.sort(), old: sizeOf(old), new: sizeOf(now) }
})

function halfway({ reason, retry }: { readonly reason: string; readonly retry: number }) {
  notYet()
  return { by, reason, retry }
}
kopf.on.create(widgets, { ...of('halfway'), id: 'halfway' }, halfway)
kopf.on.update(widgets, { ...of('halfway'), id: 'halfway' }, halfway)

kopf.on.field(widgets, 'spec.size', { ...of('field'), id: 'sized' }, ({ old, new: size }) => {
  return { by, old: old ?? null, new: size ?? null }
})

kopf.on.resume(widgets, { ...of('resumed'), id: 'resumed' }, () => ({ by }))

kopf.on.delete(widgets, { ...of('deleted'), id: 'cleanup' }, ({ name, logger }) => {
  logger.info(`cleaned up ${name}`)
})

kopf.on.delete(widgets, { ...of('deleting'), id: 'slow_cleanup' }, ({ name, retry, logger }) => {
  notYet()
  logger.info(`cleaned up ${name} at attempt ${retry}`)
})

kopf.on.create(widgets, { ...of('family'), id: 'family' }, ({ subhandler }) => {
  subhandler('a', () => ({ by }))
  subhandler('b', ({ retry }) => {
    notYet()
    return { by, retry }
  })
})
