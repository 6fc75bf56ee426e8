/** Decides the state of each task from its Jobs: a pure function, without requests and without a clock. */
import type { Body, Spec, Status } from 'kopf'
import type { Job } from 'kopf/kubernetes'
import { jobName, type Owner } from './jobs.ts'
import type { Workflow } from './resource.ts'

export type Task = Spec<typeof Workflow>['tasks'][number]

/** The state of a task, as in the status. Its attempts are those that have started or are about to start. */
export type TaskState = NonNullable<Status<typeof Workflow>['tasks']>[number]

/** The Jobs of the workflow, by name. */
export type Jobs = ReadonlyMap<string, Body<Job>>

/** The states of all tasks. The tasks are sorted: the dependencies of a task come before it. `stored` are the states in the status. */
export function planTasks(
  workflow: Owner,
  tasks: readonly Task[],
  jobs: Jobs,
  stored: readonly TaskState[],
): ReadonlyMap<string, TaskState> {
  const known = new Map(stored.map((state) => [state.name, state]))
  const states = new Map<string, TaskState>()
  for (const task of tasks) {
    const state = known.get(task.name)
    // The result of a task stays, also if its Job is deleted.
    if (state !== undefined && isFinished(state)) states.set(task.name, state)
    else states.set(task.name, planByDependencies(task, states) ?? planAttempts(workflow, task, jobs, state))
  }
  return states
}

/** The status has the messages of up to 100 tasks, and an object can have about 1.5 MB. */
const maxMessage = 1000

export const isFinished = ({ phase }: TaskState) => phase !== 'Pending' && phase !== 'Running'

/** The state of a task that cannot run: it waits, or never runs. */
function planByDependencies({ name, dependsOn }: Task, states: ReadonlyMap<string, TaskState>): TaskState | undefined {
  const phases = dependsOn.map((dependency) => ({ dependency, phase: states.get(dependency)?.phase }))
  const failed = phases.find(({ phase }) => phase === 'Failed' || phase === 'Skipped')
  if (failed !== undefined) {
    const message = `The task "${failed.dependency}" did not succeed`
    return { name, phase: 'Skipped', attempts: 0, message }
  }
  if (phases.some(({ phase }) => phase !== 'Succeeded')) return { name, phase: 'Pending', attempts: 0 }
  return undefined
}

/**
 * Continues at the attempt in the status: the Jobs of earlier attempts may be deleted. A Job of this attempt that does not exist yet, or that was
 * deleted before it has finished, is created.
 */
function planAttempts(workflow: Owner, { name, retries }: Task, jobs: Jobs, stored: TaskState | undefined): TaskState {
  for (let attempts = Math.max(stored?.attempts ?? 0, 1); ; attempts += 1) {
    const job = jobs.get(jobName(workflow, name, attempts))
    const startTime = job?.status?.startTime
    const state = { name, attempts, ...(startTime === undefined ? {} : { startTime }) }
    const [end] = conditionsOf(job, ['Complete', 'Failed'])
    if (end === undefined) return { ...state, phase: 'Running' }
    const completionTime = end.lastTransitionTime
    const times = completionTime === undefined ? {} : { completionTime }
    if (end.type === 'Complete') return { ...state, ...times, phase: 'Succeeded' }
    const message = [end.reason ?? 'Failed', end.message].filter(Boolean).join(': ').slice(0, maxMessage)
    if (attempts > retries) return { ...state, ...times, phase: 'Failed', message }
  }
}

function conditionsOf(job: Body<Job> | undefined, types: readonly string[]) {
  return (job?.status?.conditions ?? []).filter(({ type, status }) => types.includes(type) && status === 'True')
}
