/** The same operator as daemons.py: a daemon for each object, and one that outlives the delete handler of its object. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Operator } from 'kopf'

const widgets = [process.env['GROUP'] as string, 'v1', 'widgets'] as const

const kopf: Operator = new Operator()
export default kopf

kopf.daemon(widgets, { labels: { case: 'watched' }, id: 'watch' }, async ({ name, spec, stopped, logger }) => {
  logger.info(`watching ${name}`)
  await stopped.wait()
  logger.info(`watched ${name}: ${spec['size']}`)
  return { by: 'ours', size: spec['size'] }
})

kopf.daemon(widgets, { labels: { case: 'lingering' }, id: 'linger' }, async ({ stopped }) => {
  await stopped.wait()
  while (stopped.reason !== 'operator-exiting') await sleep(100)
})

kopf.on.delete(widgets, { labels: { case: 'lingering' }, id: 'cleanup' }, ({ name, logger }) => {
  logger.info(`cleaned up ${name}`)
})
