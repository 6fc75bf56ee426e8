import { Operator } from 'kopf'

const kopf = new Operator()

/** Called two seconds after the end of the previous call. The result is stored in `status.count`. */
kopf.timer('kopfexamples', { id: 'count', interval: '2s' }, ({ status }) => {
  const { calls = 0 } = status.count ?? {}
  return { calls: calls + 1 }
})

/** Called once when the object has not changed for three seconds. Changes of the status do not count. */
kopf.timer('kopfexamples', { id: 'save', idle: '3s' }, ({ spec, patch, logger }) => {
  logger.info(`Nothing has changed for a while: saving "${spec.text}"`)
  patch.status.saved = spec.text
})

/** Called after five seconds without a change, and then every ten seconds until the next change. */
kopf.timer('kopfexamples', { id: 'check', idle: '5s', interval: '10s', sharp: true }, ({ status, spec, logger }) => {
  logger.info(status.saved === spec.text ? 'All is well' : 'Not saved yet')
})

export default kopf
