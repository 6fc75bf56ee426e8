import { AdmissionError, defineResource, Operator } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'
import { z } from 'zod'

const Draw = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Draw',
  spec: z.object({ numbers: z.array(z.union([z.int(), z.string()])).optional() }),
})

const kopf = new Operator({
  // The server listens on a free port of this machine with a self-signed certificate. The operator writes its address into the
  // webhook configurations. Settings of webhooks belong here, not into a startup handler: `kopf manifests` reads them without starting.
  settings: { admission: { server: new WebhookServer({ addr: '127.0.0.1' }), managed: 'auto.kopf.dev' } },
})

/** Mutating handlers are called before validating handlers. This one sets a default. */
kopf.on.mutate(Draw, function ensureDefaultNumbers({ spec, patch }) {
  if (spec.numbers === undefined) patch.spec.numbers = [1, 2, 3]
})

/** Any error refuses the request. The message and the status of an AdmissionError are shown to the user. */
kopf.on.validate(Draw, { operations: ['CREATE', 'UPDATE'] }, function checkNumbers({ spec, warnings }) {
  for (const item of spec.numbers ?? []) {
    const number = Number(item)
    if (!Number.isFinite(number)) throw new AdmissionError(`Cannot convert "${item}" to a number.`)
    if (typeof item === 'string') warnings.push(`"${item}" is not a number but can be converted.`)
    if (number < 0 || number > 100) throw new AdmissionError('Numbers must be within 0 and 100.', { status: 422 })
  }
})

/** `old` is the whole stored object. */
kopf.on.validate(Draw, { operations: ['DELETE'] }, function keepProtected({ old }) {
  if (old?.metadata.labels?.['protected'] === 'yes') {
    throw new AdmissionError('It is protected: remove the label first.', { status: 403 })
  }
})

export default kopf
