import { Operator, TemporaryError } from 'kopf'

const kopf = new Operator()

/** The bucket is made once, however often the handler is called: by us, or by the process after us. */
kopf.on.create('kopfexamples', { id: 'backups' }, async ({ name, spec, retry, step, logger }) => {
  const bucket = await step('bucket', () => {
    logger.info('Making a bucket')
    return { name: `${name}-backups`, region: 'north' }
  })
  await step('rules', () => logger.info(`Keeping what is in ${bucket.name} for ${spec.retention} days`))
  if (retry === 0) throw new TemporaryError('The bucket is not there yet', { delay: '10s' })
  await step('schedule', () => logger.info(`Scheduling backups into ${bucket.name}`))
  return { bucket: bucket.name, attempts: retry + 1 }
})

export default kopf
