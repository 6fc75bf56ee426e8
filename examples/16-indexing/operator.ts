import { Operator, PRESENT } from 'kopf'

const kopf = new Operator()

/** The names of config maps, by the object that uses them. Kept up to date as they come, change and go. */
const configMapsOf = kopf.index('configmaps', { labels: { 'used-by': PRESENT } }, ({ labels, name }) => [
  [labels['used-by'], name],
])

/** All of them are there before any handler is called: no request is needed to know them. */
kopf.on.create('kopfexamples', ({ name, logger }) => {
  logger.info(`Config maps: ${configMapsOf.get(name).toSorted().join(', ')}`)
})

kopf.timer('kopfexamples', { id: 'count', interval: '5s' }, ({ name }) => ({
  configMaps: configMapsOf.get(name).length,
}))

export default kopf
