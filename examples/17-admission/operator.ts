import { AdmissionError, Operator } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'

const kopf = new Operator()

kopf.on.startup(({ settings }) => {
  // Any free port of this machine, with certificates of its own making; the cluster is told of it by the configuration.
  settings.admission.server = new WebhookServer({ addr: '127.0.0.1' })
  settings.admission.managed = 'auto.kopf.dev'
})

/** Before anybody validates: what is missing is filled in. */
kopf.on.mutate('kopfexamples', function ensureDefaultNumbers({ spec, patch }) {
  if (spec.numbers === undefined) patch.spec.numbers = [1, 2, 3]
})

/** Whatever is thrown refuses the request; this error has a message and a code for whoever made it. */
kopf.on.validate('kopfexamples', { operations: ['CREATE', 'UPDATE'] }, function checkNumbers({ spec, warnings }) {
  if (!Array.isArray(spec.numbers)) throw new AdmissionError('Numbers must be a list if present.', { status: 400 })
  for (const number of spec.numbers) {
    if (!Number.isFinite(Number(number)))
      throw new AdmissionError(`Cannot convert ${JSON.stringify(number)} to a number.`)
    if (typeof number !== 'number') warnings.push(`${JSON.stringify(number)} is not a number but can be converted.`)
    if (number < 0 || number > 100) throw new AdmissionError('Numbers must be within 0 and 100.', { status: 422 })
  }
})

/** `old` is the whole object as it is now. */
kopf.on.validate('kopfexamples', { operations: ['DELETE'] }, function keepProtected({ old }) {
  if (old?.metadata.labels?.['protected'] === 'yes') {
    throw new AdmissionError('It is protected: take off the label first.', { status: 403 })
  }
})

export default kopf
