import { Operator, PRESENT } from 'kopf'
import { ConfigMap } from 'kopf/kubernetes'

const kopf = new Operator()

/** The names of config maps, by the object that uses them. Updated when config maps are created, changed or deleted. */
const configMapsOf = kopf.index(ConfigMap, { labels: { 'used-by': PRESENT } }, ({ labels, name }) => [
  [labels['used-by'], name],
])

/** The index is complete before any handler is called, and needs no request. */
kopf.on.create('kopfexamples', ({ name, logger }) => {
  logger.info(`Config maps: ${configMapsOf.get(name).toSorted().join(', ')}`)
})

kopf.timer('kopfexamples', { id: 'count', interval: '5s' }, ({ name }) => ({
  configMaps: configMapsOf.get(name).length,
}))

export default kopf
