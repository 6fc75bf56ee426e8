/** The same operator as peering.py: it logs its calls, has a timer for each object, and takes part in a peering. */
import { Operator } from 'kopf'

const widgets = [process.env['GROUP'] as string, 'v1', 'widgets'] as const

const kopf: Operator = new Operator()
export default kopf

kopf.on.startup(({ settings }) => {
  settings.peering.lifetime = Number(process.env['LIFETIME'])
})

kopf.on.create(widgets, { id: 'handle' }, ({ name, logger }) => {
  logger.info(`handled ${name}`)
  return { by: 'ours' }
})

kopf.on.resume(widgets, { id: 'take' }, ({ name, logger }) => logger.info(`taken ${name}`))

kopf.timer(widgets, { id: 'tick', interval: 0.3 }, ({ logger }) => logger.info('tick'))
