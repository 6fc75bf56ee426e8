import { Operator } from 'kopf'
import { Pod } from 'kopf/kubernetes'

const kopf = new Operator()

/** Called for every event of the app's pods. It adds no finalizer and no annotations to them. */
kopf.on.event(Pod, { labels: { app: 'web' } }, ({ event, status, logger }) => {
  logger.info(`${event.type ?? 'LISTED'}: ${status.phase}`)
})

export default kopf
