/** A reconciler with steps, which fails a few times at each size. Runs beside onlooker.py. */
import { Operator, TemporaryError } from 'kopf'

const widgets = [process.env['GROUP'] as string, 'v1', 'widgets'] as const

const kopf: Operator = new Operator()
export default kopf

kopf.reconcile(widgets, { id: 'family', cleanup: true }, async ({ retry, spec, step, patch }) => {
  for (const id of ['first', 'second', 'third']) await step(id, () => retry)
  if (retry < 2) throw new TemporaryError('not yet', { delay: 0.3 })
  patch.status['reconciled'] = spec['size']
})
