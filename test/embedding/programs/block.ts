/** A program that runs an operator until it is asked to stop, with a handler that never gives the event loop back. */
import { Operator } from 'kopf'
import { startCluster } from 'kopf/testing'

const kopf = new Operator()
kopf.on.create('configmaps', { id: 'endless' }, () => {
  for (;;);
})

const cluster = await startCluster()
await cluster.create('configmaps', { name: 'first' })
const { transport, connection, namespace } = cluster
await kopf.run({ ...(transport && { transport }), ...(connection && { connection }), namespaces: [namespace] })
