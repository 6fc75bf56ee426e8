/** Handlers with steps, which Kopf takes over. They finish in the PHASE second. */
import { Operator, TemporaryError } from 'kopf'

const widgets = [process.env['GROUP'] as string, 'v1', 'widgets'] as const
const isFirst = process.env['PHASE'] === 'first'

const kopf: Operator = new Operator()
export default kopf

function notYet(): void {
  if (isFirst) throw new TemporaryError('not yet', { delay: 0.3 })
}

kopf.on.create(widgets, { id: 'backups' }, async ({ retry, step }) => {
  const bucket = await step('a bucket, with ümläuts', () => ({
    made: process.env['NAME'] as string,
    by: ['ours', null],
  }))
  await step('schedule', () => {})
  notYet()
  return { by: 'ours', bucket, retry }
})

kopf.on.create(widgets, { id: 'family' }, ({ subhandler }) => {
  subhandler('child', async ({ step }) => {
    await step('inner', () => {})
    notYet()
  })
})

kopf.on.create(widgets, { id: 'plain' }, ({ retry }) => {
  notYet()
  return { by: 'ours', retry }
})

kopf.on.delete(widgets, { id: 'cleanup' }, () => {})
