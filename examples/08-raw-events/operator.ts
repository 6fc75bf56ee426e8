import { Operator } from 'kopf'
import { Pod } from 'kopf/kubernetes'

const kopf = new Operator()

/** Sees everything that happens to pods of the app, and puts nothing on them: no finalizer, no annotations. */
kopf.on.event(Pod, { labels: { app: 'web' } }, ({ event, status, logger }) => {
  logger.info(`${event.type ?? 'LISTED'}: ${status.phase}`)
})

export default kopf
