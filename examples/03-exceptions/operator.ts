import { Operator, PermanentError, TemporaryError } from 'kopf'

const kopf = new Operator()

/** Not yet: says itself when to be asked again. */
kopf.on.create('kopfexamples', { id: 'patient' }, ({ retry }) => {
  if (retry < 2) throw new TemporaryError('The disk is not ready yet', { delay: '1s' })
  return { attempts: retry + 1 }
})

/** Any other error is tried again too: here three times at most, with a second between. */
kopf.on.create('kopfexamples', { id: 'unlucky', retries: 3, backoff: '1s' }, () => {
  throw new Error('The network is down')
})

/** Never: asking again would not help. */
kopf.on.create('kopfexamples', { id: 'hopeless' }, ({ spec }) => {
  if (spec.region === 'nowhere') throw new PermanentError(`There is no region "${spec.region}"`)
})

export default kopf
