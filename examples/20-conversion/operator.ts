import { defineResource, Operator } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'
import { z } from 'zod'

const names = { group: 'example.com', kind: 'Database' } as const

/** Two versions of one resource: the second has numbers where the first had texts. It is the one that is stored. */
const DatabaseV1 = defineResource({ ...names, version: 'v1', spec: z.object({ size: z.string() }) })
const DatabaseV2 = defineResource({ ...names, version: 'v2', spec: z.object({ sizeInGb: z.number().int() }) })

const kopf = new Operator()

kopf.on.startup(({ settings }) => {
  settings.admission.server = new WebhookServer({ addr: '127.0.0.1' })
  settings.admission.managed = 'auto.kopf.dev'
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
