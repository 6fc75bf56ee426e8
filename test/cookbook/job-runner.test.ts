/** The operator of cookbook/job-runner: Jobs in the order of their dependencies, retries, results, and refused workflows. */
import { ApiError } from 'kopf'
import { Job } from 'kopf/kubernetes'
import { expect, test } from 'vitest'
import kopf, { Workflow } from '../../cookbook/job-runner/operator.ts'
import { useProject } from './cookbook-support.ts'

const project = useProject(kopf, { resources: [Workflow] })

function task(name: string, dependsOn: string[] = [], retries = 0) {
  return { name, image: 'registry.example.com/etl:1', command: ['etl', name], dependsOn, retries }
}

async function create(name: string, tasks: ReturnType<typeof task>[], keepJobsSeconds = 3600): Promise<void> {
  await project.cluster.create(Workflow, { name, spec: { tasks, keepJobsSeconds } })
}

const isIn = (phase: string) => (workflow: { readonly status?: { readonly phase?: string } }) =>
  workflow.status?.phase === phase

/** Ends the Job of an attempt as the Job controller would. */
async function finish(workflow: string, name: string, type: 'Complete' | 'Failed', attempt = 1): Promise<void> {
  const { cluster } = project
  const labelSelector = { 'example.com/workflow': workflow, 'example.com/task': name }
  const isThis = ({ metadata }: { readonly metadata: { readonly name: string } }) =>
    metadata.name.endsWith(`-${attempt}`)
  const jobs = await cluster.until(Job, { labelSelector }, (list) => list.some(isThis))
  const time = '2026-01-01T00:00:00Z'
  const before = type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget'
  const conditions = [before, type].map((one) => ({ type: one, status: 'True', lastTransitionTime: time }))
  const end = type === 'Complete' ? { completionTime: time, succeeded: 1 } : { failed: 1 }
  const status = { conditions, startTime: time, terminating: 0, ...end }
  await cluster.client.patch(Job, jobs.find(isThis)?.metadata.name ?? '', { status }, { subresource: 'status' })
}

test('tasks run in the order of their dependencies, failures are repeated, and Jobs are deleted at the end', async () => {
  const { cluster } = project
  await project.start()
  await create('nightly', [task('extract', [], 1), task('clean', ['extract']), task('load', ['clean'])], 0)
  await finish('nightly', 'extract', 'Failed', 1)
  expect(await cluster.list(Job, { labelSelector: { 'example.com/task': 'clean' } })).toEqual([])
  await finish('nightly', 'extract', 'Complete', 2)
  await finish('nightly', 'clean', 'Complete')
  await finish('nightly', 'load', 'Complete')
  const { status } = await cluster.until(Workflow, 'nightly', isIn('Succeeded'))
  expect(status?.tasks).toMatchObject([
    { name: 'extract', phase: 'Succeeded', attempts: 2 },
    { name: 'clean', phase: 'Succeeded', attempts: 1 },
    { name: 'load', phase: 'Succeeded', attempts: 1 },
  ])
  await cluster.until(async () => {
    const jobs = await cluster.list(Job, { labelSelector: { 'example.com/workflow': 'nightly' } })
    return jobs.every(({ metadata }) => metadata.deletionTimestamp !== undefined)
  })
})

test('a failed task fails the workflow, and the tasks that depend on it are skipped', async () => {
  const { cluster } = project
  await project.start()
  await create('broken', [task('first'), task('second', ['first']), task('other')])
  await finish('broken', 'first', 'Failed')
  await finish('broken', 'other', 'Complete')
  const { status } = await cluster.until(Workflow, 'broken', isIn('Failed'))
  expect(status?.tasks?.map(({ phase }) => phase)).toEqual(['Failed', 'Skipped', 'Succeeded'])
  expect(status?.conditions).toMatchObject([{ type: 'Succeeded', status: 'False', reason: 'TasksFailed' }])
})

test('a cycle is reported, and other mistakes are refused by the API server', async () => {
  const { cluster } = project
  await project.start()
  await create('cycle', [task('a', ['b']), task('b', ['a'])])
  const { status } = await cluster.until(Workflow, 'cycle', isIn('Invalid'))
  expect(status?.conditions).toMatchObject([{ reason: 'Cycle', message: 'Tasks depend on each other: a -> b -> a' }])
  const unknown = await create('unknown', [task('a', ['b'])]).catch((error: unknown) => error)
  expect(unknown).toBeInstanceOf(ApiError)
  expect(String(unknown)).toContain('a task depends on a task that does not exist')
})
