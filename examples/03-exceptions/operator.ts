import { defineResource, Operator, PermanentError, TemporaryError } from 'kopf'
import { z } from 'zod'

const Disk = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Disk',
  spec: z.object({ region: z.string() }),
  status: z.object({ patient: z.object({ attempts: z.int() }) }),
})

const kopf = new Operator()

/** A temporary error has its own delay. */
kopf.on.create(Disk, { id: 'patient' }, ({ retry }) => {
  if (retry < 2) throw new TemporaryError('The disk is not ready yet', { delay: '1s' })
  return { attempts: retry + 1 }
})

/** Any other error is retried, too: here with three attempts at most and a delay of one second. */
kopf.on.create(Disk, { id: 'unlucky', retries: 3, backoff: '1s' }, () => {
  throw new Error('The network is down')
})

/** A permanent error is not retried. */
kopf.on.create(Disk, { id: 'hopeless' }, ({ spec }) => {
  if (spec.region === 'nowhere') throw new PermanentError(`There is no region "${spec.region}"`)
})

export default kopf
