/** Decides the state of each task from its Jobs: a pure function, without requests and without a clock. */
import type { Body, Spec } from 'kopf'
import type { Job } from 'kopf/kubernetes'
import { jobName } from './jobs.ts'
import type { Workflow } from './resource.ts'

export type Task = Spec<typeof Workflow>['tasks'][number]
type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Skipped'

export interface TaskState {
  readonly name: string
  readonly phase: Phase
  /** Attempts that have started or are about to start. */
  readonly attempts: number
  readonly message?: string
  readonly startTime?: string
  readonly completionTime?: string
}

/** The Jobs of the workflow, by name. */
export type Jobs = ReadonlyMap<string, Body<Job>>

/** The states of all tasks. The tasks are sorted: the dependencies of a task come before it. `stored` are the states in the status. */
export function planTasks(
  workflow: string,
  tasks: readonly Task[],
  jobs: Jobs,
  stored: readonly TaskState[],
): Map<string, TaskState> {
  const finished = new Map(stored.filter(({ phase }) => isFinished(phase)).map((state) => [state.name, state]))
  const states = new Map<string, TaskState>()
  for (const task of tasks) {
    // The result of a task stays, also if its Job is deleted.
    states.set(task.name, finished.get(task.name) ?? planTask(workflow, task, jobs, states))
  }
  return states
}

export const isFinished = (phase: Phase) => phase === 'Succeeded' || phase === 'Failed' || phase === 'Skipped'

function planTask(workflow: string, task: Task, jobs: Jobs, states: ReadonlyMap<string, TaskState>): TaskState {
  const { name, dependsOn } = task
  const failed = dependsOn.find((one) => ['Failed', 'Skipped'].includes(states.get(one)?.phase ?? ''))
  if (failed !== undefined)
    return { name, phase: 'Skipped', attempts: 0, message: `The task "${failed}" did not succeed` }
  if (dependsOn.some((one) => states.get(one)?.phase !== 'Succeeded')) return { name, phase: 'Pending', attempts: 0 }
  return planAttempts(workflow, task, jobs)
}

/** Attempts are counted by their Jobs, so that the count survives a restart of the operator, and a Job that is lost is created again. */
function planAttempts(workflow: string, { name, retries }: Task, jobs: Jobs): TaskState {
  for (let attempt = 1; ; attempt += 1) {
    const job = jobs.get(jobName(workflow, name, attempt))
    const { startTime } = job?.status ?? {}
    const times = startTime === undefined ? {} : { startTime }
    if (job === undefined || !hasCondition(job, 'Complete', 'Failed')) {
      return { name, phase: 'Running', attempts: attempt, ...times }
    }
    const completionTime = job.status?.completionTime ?? finishTimeOf(job)
    const end = { ...times, ...(completionTime === undefined ? {} : { completionTime }) }
    if (hasCondition(job, 'Complete')) return { name, phase: 'Succeeded', attempts: attempt, ...end }
    if (attempt > retries) return { name, phase: 'Failed', attempts: attempt, message: failureOf(job), ...end }
  }
}

const conditionsOf = (job: Body<Job>, types: readonly string[]) =>
  (job.status?.conditions ?? []).filter(({ type, status }) => types.includes(type) && status === 'True')

const hasCondition = (job: Body<Job>, ...types: string[]) => conditionsOf(job, types).length > 0
const finishTimeOf = (job: Body<Job>) => conditionsOf(job, ['Failed'])[0]?.lastTransitionTime

function failureOf(job: Body<Job>): string {
  const { reason, message } = conditionsOf(job, ['Failed'])[0] ?? {}
  return [reason ?? 'Failed', message].filter((text) => text !== undefined && text !== '').join(': ')
}
