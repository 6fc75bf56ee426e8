import { buildObject, buildOwnerReference, defineResource, Operator, TemporaryError } from 'kopf'
import { ConfigMap, CronJob } from 'kopf/kubernetes'
import { z } from 'zod'

const BackupPlan = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'BackupPlan',
  spec: z.object({ retention: z.int().min(1), schedule: z.string() }),
  status: z.object({ backups: z.object({ schedule: z.string() }) }),
})

const kopf = new Operator()

/** Each step runs once, even if the handler is retried or the operator restarts. */
kopf.on.create(BackupPlan, { id: 'backups' }, async ({ body, name, spec, labels, client, step, logger }) => {
  const ownerReferences = [buildOwnerReference(body)]

  // Without the step, every retry would create another object, since the server generates the name.
  const target = await step('target', async () => {
    const metadata = { generateName: `${name}-`, ownerReferences }
    const created = await client.create(ConfigMap, { metadata, data: { retention: `${spec.retention}d` } })
    logger.info('Created a target')
    return created.metadata.name
  })

  if (labels['approved'] !== 'yes') throw new TemporaryError('Waiting for the label approved=yes', { delay: '10s' })

  await step('schedule', async () => {
    const containers = [{ name: 'backup', image: 'backup', args: [target] }]
    const jobTemplate = { spec: { template: { spec: { containers, restartPolicy: 'Never' } } } }
    const metadata = { name, ownerReferences }
    await client.create(buildObject(CronJob, { metadata, spec: { schedule: spec.schedule, jobTemplate } }))
    logger.info('Scheduled the backups')
  })
  return { schedule: spec.schedule }
})

export default kopf
