/** Jobs and cron jobs on the embedded server with controllers. */
import { resource } from 'kopf'
import { startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import { condition, job, type Loose, podsOf } from './workload-manifests.ts'

const jobs = resource('batch/v1', 'jobs')
const cronJobs = resource('batch/v1', 'cronjobs')

const isOver = ({ status }: Loose): boolean =>
  condition(status, 'Complete')?.['status'] === 'True' || condition(status, 'Failed')?.['status'] === 'True'

test('a Job completes, and keeps and counts its pods', async () => {
  await using cluster = await startCluster({ controllers: ['jobs'] })
  await cluster.create(jobs, job({ completions: 3, parallelism: 2 }))
  const { status } = await cluster.until(jobs, 'work', isOver)
  expect(status).toMatchObject({ succeeded: 3, ready: 0, terminating: 0, uncountedTerminatedPods: {} })
  expect(status.conditions.map(({ type, reason }: Loose) => [type, reason])).toEqual([
    ['SuccessCriteriaMet', 'CompletionsReached'],
    ['Complete', 'CompletionsReached'],
  ])
  const pods = await podsOf(cluster, 'job-name=work')
  expect(pods.map(({ status, metadata }) => [status.phase, metadata.finalizers])).toEqual(
    Array(3).fill(['Succeeded', undefined]),
  )
})

test('a Job that exceeds its backoffLimit fails', async () => {
  await using cluster = await startCluster({ controllers: ['jobs'] })
  await cluster.create(jobs, job({ backoffLimit: 2 }, 'fail after 5s with 3'))
  const { status } = await cluster.until(jobs, 'work', isOver)
  expect(status.failed).toBe(3)
  expect(condition(status, 'Failed')).toMatchObject({ reason: 'BackoffLimitExceeded' })
  expect(status.completionTime).toBeUndefined()
  const [pod] = await podsOf(cluster, 'job-name=work')
  expect(pod!['status'].containerStatuses[0].state.terminated).toMatchObject({ exitCode: 3, reason: 'Error' })
})

test('a Job waits longer after each failed pod', async () => {
  await using cluster = await startCluster({ controllers: ['jobs'] })
  await cluster.create(jobs, job({ backoffLimit: 3 }, 'fail 3 times'))
  const { status } = await cluster.until(jobs, 'work', isOver)
  expect(status).toMatchObject({ succeeded: 1, failed: 3 })
  const times = (await podsOf(cluster)).map(({ metadata }) => Date.parse(metadata.creationTimestamp)).sort()
  const pauses = times.slice(1).map((time, index) => (time - times[index]!) / 1000)
  for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(10 * 2 ** index)
})

test('an indexed Job has a pod for each index', async () => {
  await using cluster = await startCluster({ controllers: ['jobs'] })
  await cluster.create(jobs, job({ completions: 3, parallelism: 3, completionMode: 'Indexed' }))
  const { status } = await cluster.until(jobs, 'work', isOver)
  expect(status).toMatchObject({ succeeded: 3, completedIndexes: '0-2' })
  const pods = await podsOf(cluster, 'job-name=work')
  const hosts = pods.map(({ spec }) => spec.hostname).sort()
  expect(hosts).toEqual(['work-0', 'work-1', 'work-2'])
  expect(pods[0]!['spec'].containers[0].env[0].name).toBe('JOB_COMPLETION_INDEX')
})

test('a suspended Job has no pods until it is resumed', async () => {
  await using cluster = await startCluster({ controllers: ['jobs'] })
  await cluster.create(jobs, job({ suspend: true }))
  const { status } = await cluster.until(jobs, 'work', ({ status }) => condition(status, 'Suspended'))
  expect(condition(status, 'Suspended')).toMatchObject({ status: 'True', reason: 'JobSuspended' })
  await cluster.settled()
  expect(await podsOf(cluster)).toEqual([])
  await cluster.patch(jobs, 'work', { spec: { suspend: false } })
  const resumed = await cluster.until(jobs, 'work', isOver)
  expect(condition(resumed.status, 'Suspended')).toMatchObject({ status: 'False', reason: 'JobResumed' })
})

test('suspending a Job deletes its pods without counting them as failed', async () => {
  await using cluster = await startCluster({ controllers: ['jobs'] })
  await cluster.create(jobs, job({}, 'succeed after 1h'))
  await cluster.until(jobs, 'work', ({ status }) => status.active === 1)
  await cluster.patch(jobs, 'work', { spec: { suspend: true } })
  const { status } = await cluster.until(jobs, 'work', ({ status }) => condition(status, 'Suspended') && !status.active)
  await cluster.settled()
  expect(await podsOf(cluster)).toEqual([])
  expect(status.failed).toBeUndefined()
})

test('a Job past its activeDeadlineSeconds fails, and its pods are deleted', async () => {
  await using cluster = await startCluster({ controllers: ['jobs'] })
  await cluster.create(jobs, job({ activeDeadlineSeconds: 30 }, 'run'))
  const { status } = await cluster.until(jobs, 'work', isOver)
  expect(condition(status, 'Failed')).toMatchObject({ reason: 'DeadlineExceeded' })
  expect(status.failed).toBe(1)
  await cluster.settled()
  expect(await podsOf(cluster)).toEqual([])
})

test('a Job is deleted with its pods after ttlSecondsAfterFinished', async () => {
  await using cluster = await startCluster({ controllers: ['jobs'] })
  await cluster.create(jobs, job({ ttlSecondsAfterFinished: 100 }))
  const { status } = await cluster.until(jobs, 'work', isOver)
  const endedMs = Date.parse(status.completionTime)
  await cluster.untilGone(jobs, 'work')
  expect(cluster.clock.now() - endedMs).toBeGreaterThanOrEqual(100_000)
  expect(await podsOf(cluster)).toEqual([])
})

test('a Job with restartPolicy OnFailure counts container restarts as failures', async () => {
  await using cluster = await startCluster({ controllers: ['jobs'] })
  const { name, spec } = job({ backoffLimit: 2 }, 'fail')
  const template = { ...spec.template, spec: { ...spec.template.spec, restartPolicy: 'OnFailure' } }
  await cluster.create(jobs, { name, spec: { ...spec, template } })
  const { status } = await cluster.until(jobs, 'work', isOver)
  expect(condition(status, 'Failed')).toMatchObject({ reason: 'BackoffLimitExceeded' })
})

test('a CronJob creates a Job each minute, and keeps successfulJobsHistoryLimit of them', async () => {
  await using cluster = await startCluster({ controllers: ['cronjobs'] })
  const jobTemplate = { spec: job().spec }
  await cluster.create(cronJobs, {
    name: 'tick',
    spec: { schedule: '* * * * *', successfulJobsHistoryLimit: 2, jobTemplate },
  })
  await cluster.clock.advance('5m')
  const made = await cluster.list(jobs)
  expect(made.length).toBeLessThanOrEqual(3)
  for (const { metadata } of made) {
    const scheduled = metadata.annotations!['batch.kubernetes.io/cronjob-scheduled-timestamp']!
    expect(metadata.name).toBe(`tick-${Date.parse(scheduled) / 60_000}`)
  }
  const { status } = await cluster.get(cronJobs, 'tick')
  expect(Date.parse(status.lastScheduleTime)).toBeGreaterThan(cluster.clock.now() - 61_000)
  expect(status.lastSuccessfulTime).toBeDefined()
})

test('a CronJob with concurrencyPolicy Forbid does not start a second Job beside the first', async () => {
  await using cluster = await startCluster({ controllers: ['cronjobs'] })
  const jobTemplate = { spec: job({}, 'run').spec }
  await cluster.create(cronJobs, {
    name: 'tick',
    spec: { schedule: '* * * * *', concurrencyPolicy: 'Forbid', jobTemplate },
  })
  await cluster.clock.advance('5m')
  expect(await cluster.list(jobs)).toHaveLength(1)
})

test('a CronJob with concurrencyPolicy Replace deletes the first Job', async () => {
  await using cluster = await startCluster({ controllers: ['cronjobs'] })
  const jobTemplate = { spec: job({}, 'run').spec }
  await cluster.create(cronJobs, {
    name: 'tick',
    spec: { schedule: '* * * * *', concurrencyPolicy: 'Replace', jobTemplate },
  })
  await cluster.clock.advance('3m')
  expect(await cluster.list(jobs)).toHaveLength(1)
  const { status } = await cluster.get(cronJobs, 'tick')
  expect(status.active).toHaveLength(1)
})

test('a suspended CronJob creates no Jobs', async () => {
  await using cluster = await startCluster({ controllers: ['cronjobs'] })
  const jobTemplate = { spec: job().spec }
  await cluster.create(cronJobs, { name: 'tick', spec: { schedule: '* * * * *', suspend: true, jobTemplate } })
  await cluster.clock.advance('5m')
  expect(await cluster.list(jobs)).toEqual([])
})
