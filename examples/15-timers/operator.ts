import { Operator } from 'kopf'

const kopf = new Operator()

/** Every other second, from the end of one call to the beginning of the next. What it returns goes to `status.count`. */
kopf.timer('kopfexamples', { id: 'count', interval: '2s' }, ({ status }) => {
  const { calls = 0 } = status.count ?? {}
  return { calls: calls + 1 }
})

/** Once after each change, when nobody has changed the object for three seconds. The status does not count as a change. */
kopf.timer('kopfexamples', { id: 'save', idle: '3s' }, ({ spec, patch, logger }) => {
  logger.info(`Nothing has changed for a while: saving "${spec.text}"`)
  patch.status.saved = spec.text
})

/** Both: after five seconds without a change, and every ten seconds from then on, on the second, until the next one. */
kopf.timer('kopfexamples', { id: 'check', idle: '5s', interval: '10s', sharp: true }, ({ status, spec, logger }) => {
  logger.info(status.saved === spec.text ? 'All is well' : 'Not saved yet')
})

export default kopf
