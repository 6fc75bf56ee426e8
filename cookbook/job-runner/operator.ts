/** Runs the tasks of each `Workflow` as Jobs, in the order of their dependencies. */
import { type Args, Operator } from 'kopf'
import { Job } from 'kopf/kubernetes'
import { type Graph, sortTasks } from './graph.ts'
import { buildJob, jobName, type Owner } from './jobs.ts'
import { isFinished, type Jobs, planTasks, type Task, type TaskState } from './plan.ts'
import { Workflow } from './resource.ts'

export { Workflow }

const kopf = new Operator({ name: 'job-runner-operator' })
export default kopf

kopf.reconcile(Workflow, { id: 'workflow', owns: [Job] }, (args) => {
  const { name, uid, spec, status, children, patch, conditions } = args
  const graph = sortTasks(spec.tasks)
  if (graph.type !== 'sorted') {
    conditions.set({ type: 'Succeeded', status: false, ...describeProblem(graph) })
    patch.status.phase = 'Invalid'
    return { children: [] }
  }

  const workflow = { name, uid }
  const jobs = new Map(children.of(Job).map((job) => [job.metadata.name ?? '', job]))
  const states = planTasks(workflow, graph.tasks, jobs, status.tasks ?? [])
  const phase = writeStatus(args, states)
  const current = listJobs(workflow, graph.tasks, jobs, states)
  if (phase === 'Running') return { children: current }

  const leftSeconds = completeWorkflow(args)
  // Results stay in the status. Jobs, their pods and their logs are deleted.
  return leftSeconds <= 0 ? { children: [] } : { children: current, requeueAfter: leftSeconds }
})

type WorkflowArgs = Args<'reconcile', typeof Workflow>

/** Writes the states of the tasks and the state of the whole workflow. Returns the phase of the workflow. */
function writeStatus(
  { spec, status, patch, conditions, logger }: WorkflowArgs,
  states: ReadonlyMap<string, TaskState>,
): 'Running' | 'Succeeded' | 'Failed' {
  const { phase, progress, condition } = summarize([...states.values()])
  patch.status.tasks = spec.tasks.flatMap((task) => states.get(task.name) ?? [])
  patch.status.progress = progress
  patch.status.phase = phase
  conditions.set({ type: 'Succeeded', ...condition })
  if (phase !== status.phase) logger.info(condition.message)
  return phase
}

/** Writes the time of the completion, once. Returns for how many seconds the Jobs stay. */
function completeWorkflow({ spec, status, patch, now }: WorkflowArgs): number {
  const completionTime = status.completionTime ?? now().toISOString()
  patch.status.completionTime = completionTime
  return (Date.parse(completionTime) - now().getTime()) / 1000 + spec.keepJobsSeconds
}

/** The Jobs that exist, and those of the attempts that should run. A finished Job that was deleted is not created again: its task would run twice. */
function listJobs(workflow: Owner, tasks: readonly Task[], jobs: Jobs, states: ReadonlyMap<string, TaskState>): Job[] {
  return tasks.flatMap((task) => {
    const { attempts = 0, phase } = states.get(task.name) ?? {}
    const numbers = Array.from({ length: attempts }, (_, index) => index + 1)
    return numbers
      .filter(
        (number) => jobs.has(jobName(workflow, task.name, number)) || (phase === 'Running' && number === attempts),
      )
      .map((number) => buildJob(workflow, task, number))
  })
}

function describeProblem(graph: Exclude<Graph<Task>, { readonly type: 'sorted' }>) {
  if (graph.type === 'cycle') {
    return { reason: 'Cycle', message: `Tasks depend on each other: ${graph.names.join(' -> ')}` }
  }
  const message = `The task "${graph.task}" depends on "${graph.dependency}", which does not exist`
  return { reason: 'UnknownTask', message }
}

/** The state of the whole workflow. Tasks that do not depend on a failed one still run, so a workflow fails when all tasks are finished. */
function summarize(states: readonly TaskState[]) {
  const count = (phase: TaskState['phase']) => states.filter((state) => state.phase === phase).length
  const progress = `${count('Succeeded')}/${states.length}`
  if (!states.every(isFinished)) {
    const message = `Running tasks: ${count('Running')}, waiting tasks: ${count('Pending')}`
    return { phase: 'Running', progress, condition: { status: 'Unknown', reason: 'Running', message } } as const
  }
  const failed = states.filter(({ phase }) => phase === 'Failed').map(({ name }) => name)
  if (failed.length === 0) {
    const condition = { status: true, reason: 'Succeeded', message: 'All tasks have succeeded' } as const
    return { phase: 'Succeeded', progress, condition } as const
  }
  const message = `These tasks have failed: ${failed.join(', ')}`
  return { phase: 'Failed', progress, condition: { status: false, reason: 'TasksFailed', message } } as const
}
