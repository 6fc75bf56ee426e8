import { defineResource, Operator } from 'kopf'
import { z } from 'zod'

const Note = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Note',
  spec: z.object({ text: z.string() }),
  status: z.object({ count: z.object({ calls: z.int() }), saved: z.string() }),
})

const kopf = new Operator()

/** Called two seconds after the end of the previous call. The result is stored in `status.count`. */
kopf.timer(Note, { id: 'count', interval: '2s' }, ({ status }) => {
  return { calls: (status.count?.calls ?? 0) + 1 }
})

/** Called once when the object has not changed for three seconds. Changes of the status do not count. */
kopf.timer(Note, { id: 'save', idle: '3s' }, ({ spec, patch, logger }) => {
  logger.info(`Nothing has changed for a while: saving "${spec.text}"`)
  patch.status.saved = spec.text
})

/** Called after five seconds without a change, and then every ten seconds until the next change. */
kopf.timer(Note, { id: 'check', idle: '5s', interval: '10s', sharp: true }, ({ status, spec, logger }) => {
  logger.info(status.saved === spec.text ? 'All is well' : 'Not saved yet')
})

export default kopf
