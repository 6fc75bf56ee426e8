/** The same operator as neighbour.py: stores its state under PREFIX, and handles the same objects as the other operator. */
import { AnnotationsDiffBaseStorage, AnnotationsProgressStorage, Operator, TemporaryError } from 'kopf'

const widgets = [process.env['GROUP'] as string, 'v1', 'widgets'] as const
const prefix = process.env['PREFIX'] as string
const id = process.env['ID'] as string

const kopf: Operator = new Operator()
export default kopf

kopf.on.startup(({ settings }) => {
  settings.persistence.finalizer = `${prefix}/finalizer`
  settings.persistence.progressStorage = new AnnotationsProgressStorage({ prefix })
  settings.persistence.diffbaseStorage = new AnnotationsDiffBaseStorage({ prefix })
})

function first({ spec }: { readonly spec: { readonly size?: number } }) {
  return { size: spec.size }
}
kopf.on.create(widgets, { id: `${id}-first` }, first)
kopf.on.update(widgets, { id: `${id}-first` }, first)

function second({ spec, retry }: { readonly spec: { readonly size?: number }; readonly retry: number }) {
  if (retry === 0) throw new TemporaryError('once more', { delay: 0.1 })
  return { size: spec.size }
}
kopf.on.create(widgets, { id: `${id}-second` }, second)
kopf.on.update(widgets, { id: `${id}-second` }, second)

kopf.on.delete(widgets, { id: `${id}-cleanup` }, ({ name, logger }) => {
  logger.info(`cleaned up ${name}`)
})
