import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Operator } from 'kopf'

const kopf = new Operator()

/** Stands for something outside of the cluster that every object wants to have an eye on. */
const outside = createServer((request, response) => response.end(`pong for ${request.url}`))

kopf.on.startup(async () => {
  await once(outside.listen(0, '127.0.0.1'), 'listening')
})

/** Runs beside each object for as long as it is there. What it is given is live: a new path counts from the next round. */
kopf.daemon('kopfexamples', { id: 'ping' }, async ({ name, spec, client, resource, stopped, logger }) => {
  const { port } = outside.address() as AddressInfo
  for (let pings = 1; !stopped.isSet(); pings += 1) {
    const response = await fetch(`http://127.0.0.1:${port}/${spec.path}`, { signal: stopped.signal })
    const answer = await response.text()
    logger.info(`${pings}: ${answer}`)
    // What is put into `patch` is written when the daemon ends; this is written now.
    await client.patch(resource, name, { status: { pings, answer } }, { subresource: 'status' })
    await stopped.wait('2s')
  }
  logger.info(`Stopped: ${stopped.reason}`)
})

kopf.on.cleanup(() => {
  outside.close()
})

export default kopf
