/** The same operator as field-handlers.py: a field of the status that other handlers write. */
import { Operator, TemporaryError } from 'kopf'

const widgets = [process.env['GROUP'] as string, 'v1', 'widgets'] as const

const kopf: Operator = new Operator()
export default kopf

kopf.on.create(widgets, { id: 'create' }, ({ patch }) => {
  patch.status['phase'] = 'Ready'
})

kopf.on.delete(widgets, { id: 'cleanup' }, ({ patch, retry }) => {
  patch.status['phase'] = 'Cleaning'
  if (retry === 0) throw new TemporaryError('not yet', { delay: 0.5 })
})

kopf.on.field(widgets, 'status.phase', { id: 'phase' }, ({ reason, old, new: now, logger }) => {
  logger.info(`seen: ${reason} from ${old ?? 'nothing'} to ${now}`)
})
