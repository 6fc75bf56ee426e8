/** A program that runs an operator until a signal, with a handler that blocks the event loop forever. */
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
