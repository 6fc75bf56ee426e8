import { defineResource, Operator, TemporaryError } from 'kopf'
import { z } from 'zod'

export const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({ engine: z.enum(['postgres', 'mysql']), size: z.number().int().min(1) }),
  status: z.object({ phase: z.string(), url: z.string(), checks: z.number() }),
})

const kopf = new Operator()
export default kopf

/** The database needs four attempts to boot. */
kopf.on.create(Database, ({ name, spec, patch, retry }) => {
  if (retry < 3) throw new TemporaryError('The database is still booting', { delay: '1s' })
  patch.status.phase = 'Ready'
  patch.status.url = `${spec.engine}://${name}`
})

/** Checks the database once an hour. */
kopf.timer(Database, { interval: '1h' }, ({ status, patch }) => {
  patch.status.checks = (status.checks ?? 0) + 1
})
