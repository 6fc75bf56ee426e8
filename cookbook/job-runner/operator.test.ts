/** Runs the operator on an embedded cluster, whose controllers run Jobs. Time is skipped. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Body, isUnprocessable, type Spec } from 'kopf'
import { Job } from 'kopf/kubernetes'
import { type Cluster, startCluster } from 'kopf/testing'
import { sortTasks } from './graph.ts'
import kopf, { Workflow } from './operator.ts'

type Task = Spec<typeof Workflow>['tasks'][number]

const task = (name: string, dependsOn: string[] = [], retries = 0): Task => {
  return { name, image: 'registry.example.com/etl:1', command: ['etl', name], dependsOn, retries }
}

const diamond = [
  task('extract'),
  task('clean', ['extract']),
  task('enrich', ['extract']),
  task('load', ['clean', 'enrich']),
]

async function createWorkflow(cluster: Cluster, tasks: Task[], keepJobsSeconds = 3600): Promise<void> {
  await cluster.create(Workflow, { name: 'nightly', spec: { tasks, keepJobsSeconds } })
}

const isIn = (phase: string) => (workflow: { readonly status?: { readonly phase?: string } }) =>
  workflow.status?.phase === phase

/** The Jobs of a task, the first attempt first. */
async function listJobs(cluster: Cluster, name: string) {
  return await cluster.list(Job, { labelSelector: { 'example.com/task': name } })
}

/** Ends the last Job of a task as the Job controller would, for tests without that controller. */
async function finish(cluster: Cluster, name: string, type: 'Complete' | 'Failed', attempt = 1): Promise<void> {
  const isThere = (jobs: readonly unknown[]) => jobs.length >= attempt
  const jobs = await cluster.until(Job, { labelSelector: { 'example.com/task': name } }, isThere)
  const job = jobs.find(({ metadata }) => metadata.name.endsWith(`-${attempt}`))
  assert.ok(job)
  const conditions = [
    { type, status: 'True', reason: 'BackoffLimitExceeded', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ]
  await cluster.client.patch(Job, job.metadata.name, { status: { conditions } }, { subresource: 'status' })
}

const phasesOf = (workflow: Body<typeof Workflow>) =>
  Object.fromEntries((workflow.status?.tasks ?? []).map(({ name, phase }) => [name, phase]))

test('tasks run in the order of their dependencies', async () => {
  await using cluster = await startCluster({ resources: [Workflow], controllers: ['jobs'] })
  await using _operator = await kopf.start(cluster)
  await createWorkflow(cluster, diamond)
  const { status } = await cluster.until(Workflow, 'nightly', isIn('Succeeded'))
  assert.equal(status?.progress, '4/4')
  const ends = new Map(status?.tasks?.map(({ name, completionTime }) => [name, completionTime ?? '']))
  const starts = new Map(status?.tasks?.map(({ name, startTime }) => [name, startTime ?? '']))
  for (const { name, dependsOn } of diamond) {
    for (const dependency of dependsOn) assert.ok(starts.get(name)! >= ends.get(dependency)!, `${name}, ${dependency}`)
  }
})

test('a task starts when all of its dependencies have succeeded, and not before', async () => {
  await using cluster = await startCluster({ resources: [Workflow] })
  await using _operator = await kopf.start(cluster)
  await createWorkflow(cluster, diamond)
  await finish(cluster, 'extract', 'Complete')
  await finish(cluster, 'clean', 'Complete')
  await cluster.settled()
  assert.deepEqual(await listJobs(cluster, 'load'), [])
  await finish(cluster, 'enrich', 'Complete')
  await finish(cluster, 'load', 'Complete')
  await cluster.until(Workflow, 'nightly', isIn('Succeeded'))
})

test('a task that fails is repeated as often as its retries allow', async () => {
  await using cluster = await startCluster({ resources: [Workflow] })
  await using _operator = await kopf.start(cluster)
  await createWorkflow(cluster, [task('flaky', [], 2)])
  await finish(cluster, 'flaky', 'Failed', 1)
  await finish(cluster, 'flaky', 'Failed', 2)
  await finish(cluster, 'flaky', 'Complete', 3)
  const { status } = await cluster.until(Workflow, 'nightly', isIn('Succeeded'))
  assert.equal(status?.tasks?.[0]?.attempts, 3)
})

test('after a failure, dependent tasks are skipped and independent ones still run', async () => {
  await using cluster = await startCluster({ resources: [Workflow] })
  await using _operator = await kopf.start(cluster)
  await createWorkflow(cluster, [...diamond, task('report')])
  await finish(cluster, 'extract', 'Failed')
  await cluster.until(
    Workflow,
    'nightly',
    ({ status }) => status?.tasks?.some(({ phase }) => phase === 'Skipped') ?? false,
  )
  assert.equal((await cluster.get(Workflow, 'nightly')).status?.phase, 'Running')
  await finish(cluster, 'report', 'Complete')
  const failed = await cluster.until(Workflow, 'nightly', isIn('Failed'))
  const skipped = { clean: 'Skipped', enrich: 'Skipped', load: 'Skipped' }
  assert.deepEqual(phasesOf(failed), { extract: 'Failed', ...skipped, report: 'Succeeded' })
  assert.equal(failed.status?.tasks?.[0]?.message, 'BackoffLimitExceeded')
})

test('long messages of Jobs do not fill the status', async () => {
  await using cluster = await startCluster({ resources: [Workflow] })
  await using _operator = await kopf.start(cluster)
  await createWorkflow(cluster, [task('verbose')])
  const [job] = await cluster.until(Job, {}, (jobs) => jobs.length === 1)
  assert.ok(job)
  const conditions = [{ type: 'Failed', status: 'True', reason: 'PodFailurePolicy', message: 'x'.repeat(30_000) }]
  await cluster.client.patch(Job, job.metadata.name, { status: { conditions } }, { subresource: 'status' })
  const { status } = await cluster.until(Workflow, 'nightly', isIn('Failed'))
  assert.match(status?.tasks?.[0]?.message ?? '', /^PodFailurePolicy: x{900,}$/)
  assert.equal(status?.tasks?.[0]?.message?.length, 1000)
})

test('a restarted operator goes on where it was, and repeats nothing', async () => {
  await using cluster = await startCluster({ resources: [Workflow] })
  const first = await kopf.start(cluster)
  await createWorkflow(cluster, [task('a', [], 1), task('b', ['a'])])
  await finish(cluster, 'a', 'Failed', 1)
  await cluster.until(Job, {}, (jobs) => jobs.length === 2)
  await cluster.settled()
  await first.stop()
  // Jobs of attempts that are over can be deleted by anybody.
  const [over] = await listJobs(cluster, 'a')
  assert.ok(over)
  await cluster.delete(Job, over.metadata.name)
  const [running] = await listJobs(cluster, 'a')
  assert.ok(running)
  await using _second = await kopf.start(cluster)
  const conditions = [{ type: 'Complete', status: 'True' }]
  await cluster.client.patch(Job, running.metadata.name, { status: { conditions } }, { subresource: 'status' })
  await cluster.until(Job, { labelSelector: { 'example.com/task': 'b' } }, (jobs) => jobs.length === 1)
  assert.equal((await listJobs(cluster, 'a')).length, 1)
})

test('a Job that was deleted before its end is created again, and one after its end is not', async () => {
  await using cluster = await startCluster({ resources: [Workflow] })
  await using _operator = await kopf.start(cluster)
  await createWorkflow(cluster, [task('a'), task('b', ['a'])])
  const [first] = await cluster.until(Job, {}, (jobs) => jobs.length === 1)
  assert.ok(first)
  await cluster.delete(Job, first.metadata.name)
  await cluster.until(Job, first.metadata.name, ({ metadata }) => metadata.uid !== first.metadata.uid)
  await finish(cluster, 'a', 'Complete')
  await cluster.until(Job, { labelSelector: { 'example.com/task': 'b' } }, (jobs) => jobs.length === 1)
  await cluster.settled()
  await cluster.delete(Job, first.metadata.name)
  await cluster.settled()
  assert.deepEqual(await listJobs(cluster, 'a'), [])
})

test('Jobs of a finished workflow are deleted after a while, and its results stay', async () => {
  await using cluster = await startCluster({ resources: [Workflow], controllers: ['jobs'] })
  await using _operator = await kopf.start(cluster)
  await createWorkflow(cluster, diamond, 600)
  await cluster.until(Workflow, 'nightly', isIn('Succeeded'))
  await cluster.clock.advance('9m')
  assert.equal((await cluster.list(Job)).length, 4)
  await cluster.clock.advance('2m')
  await cluster.until(Job, {}, (jobs) => jobs.length === 0)
  const workflow = await cluster.get(Workflow, 'nightly')
  assert.deepEqual([workflow.status?.phase, workflow.status?.progress], ['Succeeded', '4/4'])
})

test('a workflow with a cycle runs nothing and names the cycle', async () => {
  await using cluster = await startCluster({ resources: [Workflow] })
  await using _operator = await kopf.start(cluster)
  await createWorkflow(cluster, [task('start'), task('a', ['start', 'c']), task('b', ['a']), task('c', ['b'])])
  const { status } = await cluster.until(Workflow, 'nightly', isIn('Invalid'))
  assert.equal(status?.conditions?.[0]?.message, 'Tasks depend on each other: a -> c -> b -> a')
  assert.deepEqual(await cluster.list(Job), [])
})

test('the API server refuses unknown dependencies, tasks that depend on themselves, and changed tasks', async () => {
  await using cluster = await startCluster({ resources: [Workflow] })
  const isRefused = (text: string) => (error: unknown) => isUnprocessable(error) && error.message.includes(text)
  await assert.rejects(createWorkflow(cluster, [task('a', ['b'])]), isRefused('a task that does not exist'))
  await assert.rejects(createWorkflow(cluster, [task('a', ['a'])]), isRefused('cannot depend on itself'))
  await assert.rejects(createWorkflow(cluster, [task('a'), task('a')]), isRefused('Duplicate value'))
  await createWorkflow(cluster, diamond)
  const changed = cluster.patch(Workflow, 'nightly', { spec: { tasks: [task('other')] } })
  await assert.rejects(changed, isRefused('the tasks cannot be changed'))
})

test('the permissions in the manifests are enough', async () => {
  const manifests = [new URL('./manifests/operator.yaml', import.meta.url)]
  await using cluster = await startCluster({ manifests, controllers: ['jobs'], authorization: 'rbac' })
  await using _operator = await kopf.start(await cluster.as({ serviceAccount: 'job-runner-operator' }))
  await createWorkflow(cluster, diamond, 0)
  await cluster.until(Workflow, 'nightly', isIn('Succeeded'))
  await cluster.until(Job, {}, (jobs) => jobs.length === 0)
  assert.deepEqual(cluster.requests.last({ status: 403 }), [])
})

test('the time to sort a graph grows linearly', () => {
  for (const size of [1000, 2000, 4000]) {
    let reads = 0
    const tasks = Array.from({ length: size }, (_, index) => ({
      name: `t${index}`,
      get dependsOn() {
        reads += 1
        return index === 0 ? [] : [`t${index - 1}`]
      },
    }))
    assert.equal(sortTasks(tasks.toReversed()).type, 'sorted')
    assert.ok(reads <= 3 * size, `${reads} reads for ${size} tasks`)
  }
})

test('an unknown dependency is named', () => {
  const graph = sortTasks([{ name: 'a', dependsOn: ['b'] }])
  assert.deepEqual(graph, { type: 'unknown', task: 'a', dependency: 'b' })
})
