import { defineResource, Operator } from 'kopf'
import { z } from 'zod'

const Website = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  spec: z.object({ url: z.string() }),
  status: z.object({ state: z.enum(['up', 'down']) }),
})

const kopf = new Operator()

async function isUp(url: string, stopped: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([stopped, AbortSignal.timeout(5000)]) })
    return response.ok
  } catch {
    return false
  }
}

/** Runs as long as the object exists. `spec` is live: a new URL is used in the next round. */
kopf.daemon(Website, { id: 'monitor' }, async ({ name, spec, client, stopped, logger }) => {
  let last = ''
  while (!stopped.isSet()) {
    const state = (await isUp(spec.url, stopped.signal)) ? 'up' : 'down'
    const message = `${spec.url} is ${state}`
    if (message !== last && !stopped.isSet()) {
      logger.info(message)
      // A patch of a daemon is written when the daemon ends. This request is sent now.
      await client.patch(Website, name, { status: { state } }, { subresource: 'status' })
      last = message
    }
    await stopped.wait('2s')
  }
  logger.info(`Stopped: ${stopped.reason}`)
})

export default kopf
