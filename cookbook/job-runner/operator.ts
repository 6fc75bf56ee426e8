/** Runs the tasks of each `Workflow` as Jobs, in the order of their dependencies. */
import { Operator } from 'kopf'
import { Job } from 'kopf/kubernetes'
import { type Graph, sortTasks } from './graph.ts'
import { buildJob } from './jobs.ts'
import { isFinished, planTasks, type Task, type TaskState } from './plan.ts'
import { Workflow } from './resource.ts'

export { Workflow }

const kopf = new Operator({ name: 'job-runner-operator' })
export default kopf

kopf.reconcile(
  Workflow,
  { id: 'workflow', owns: [Job] },
  async ({ name, spec, status, children, patch, conditions, client, clock, uid }) => {
    const graph = sortTasks(spec.tasks)
    if (graph.type !== 'sorted') {
      const problem = describe(graph)
      conditions.set({ type: 'Valid', status: false, ...problem })
      conditions.set({ type: 'Succeeded', status: false, ...problem })
      patch.status.phase = 'Invalid'
      return { children: [] }
    }
    conditions.set({ type: 'Valid', status: true, reason: 'Acyclic' })
    return undefined
  },
)
