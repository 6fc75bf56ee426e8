/** The Job of one attempt of a task. */
import { buildObject } from 'kopf'
import { Job } from 'kopf/kubernetes'
import type { Task } from './plan.ts'

export const jobName = (workflow: string, task: string, attempt: number) => `${workflow}-${task}-${attempt}`

/** A Job has one pod and no retries of its own: the operator repeats a task with another Job, and so each attempt keeps its logs. */
export function buildJob(workflow: string, task: Task, attempt: number): Job {
  const { name, image, command, timeoutSeconds } = task
  const labels = { 'example.com/workflow': workflow, 'example.com/task': name }
  const container = { name: 'task', image, ...(command.length === 0 ? {} : { command: [...command] }) }
  return buildObject(Job, {
    metadata: { name: jobName(workflow, name, attempt), labels },
    spec: {
      backoffLimit: 0,
      ...(timeoutSeconds === undefined ? {} : { activeDeadlineSeconds: timeoutSeconds }),
      template: { metadata: { labels }, spec: { restartPolicy: 'Never', containers: [container] } },
    },
  })
}
