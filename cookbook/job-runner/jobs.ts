/** The Job of one attempt of a task. */
import { buildObject } from 'kopf'
import { Job } from 'kopf/kubernetes'
import type { Task } from './plan.ts'

/** The workflow that a Job belongs to. */
export interface Owner {
  readonly name: string
  readonly uid: string
}

/**
 * The name is the same whenever it is computed, so that no attempt runs twice. A part of the uid distinguishes the workflow "a" with the task "b-c"
 * from "a-b" with the task "c", and a workflow from an earlier one of the same name. Should two uids begin alike, the reconciler refuses to take over
 * the Job of the other workflow.
 */
export const jobName = ({ name, uid }: Owner, task: string, attempt: number) =>
  `${name}-${task}-${uid.slice(0, 5)}-${attempt}`

/** A Job has one pod and never repeats it: the operator repeats a task with another Job, and so each attempt keeps its logs. */
export function buildJob(workflow: Owner, task: Task, attempt: number): Job {
  const { name, image, command, timeoutSeconds } = task
  const labels = { 'example.com/workflow': workflow.name, 'example.com/task': name }
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
