import { Operator, resource } from 'kopf'
import type { Pod as PodObject } from 'kubernetes-types/core/v1.js'

const Pod = resource<PodObject>('v1', 'pods')
const kopf = new Operator()

/** Sees everything that happens to pods of the app, and puts nothing on them: no finalizer, no annotations. */
kopf.on.event(Pod, { labels: { app: 'web' } }, ({ event, status, logger }) => {
  logger.info(`${event.type ?? 'LISTED'}: ${status.phase}`)
})

export default kopf
