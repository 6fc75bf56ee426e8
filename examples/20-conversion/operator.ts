import { defineResource, Operator } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'
import { z } from 'zod'

const names = { group: 'example.com', kind: 'Database' } as const

/** Two versions of one resource: `size` is a string in v1, and a number in v2. Objects are stored in v2. */
const DatabaseV1 = defineResource({ ...names, version: 'v1', spec: z.object({ size: z.string() }) })
const DatabaseV2 = defineResource({ ...names, version: 'v2', spec: z.object({ sizeInGb: z.number().int() }) })

const kopf = new Operator({
  settings: { admission: { server: new WebhookServer({ addr: '127.0.0.1' }), managed: 'auto.kopf.dev' } },
})

kopf.on.convert(DatabaseV2, { from: DatabaseV1, to: DatabaseV2 }, ({ spec }) => {
  const [, number] = /^(\d+)Gi$/.exec(spec.size) ?? []
  if (number === undefined) throw new Error(`"${spec.size}" is no number of Gi`)
  return { spec: { sizeInGb: Number(number) } }
})

kopf.on.convert(DatabaseV2, { from: DatabaseV2, to: DatabaseV1 }, ({ spec }) => ({
  spec: { size: `${spec.sizeInGb}Gi` },
}))

export default kopf
