/** The custom resource `Workflow`: tasks that depend on each other, and the result of each task. */
import { defineResource } from 'kopf'
import { z } from 'zod'

const taskName = z
  .string()
  .max(24)
  .regex(/^[a-z]([-a-z0-9]*[a-z0-9])?$/)

const task = z.object({
  name: taskName,
  image: z.string().min(1).max(500),
  command: z.array(z.string()).default([]).describe('Replaces the command of the image'),
  dependsOn: z
    .array(taskName)
    .max(20)
    .default([])
    .meta({ description: 'Tasks that must succeed before this one starts', 'x-kubernetes-list-type': 'set' }),
  retries: z.int().min(0).max(20).default(0).describe('How often the task is repeated after a failure'),
  timeoutSeconds: z.int().min(1).optional().describe('The time limit of one attempt'),
})

const taskStatus = z.object({
  name: z.string(),
  phase: z.enum(['Pending', 'Running', 'Succeeded', 'Failed', 'Skipped']),
  attempts: z.int(),
  message: z.string().optional(),
  startTime: z.iso.datetime().optional(),
  completionTime: z.iso.datetime().optional(),
})

export const Workflow = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Workflow',
  shortNames: ['wf'],
  description: 'Runs Jobs in the order of their dependencies.',
  spec: z.object({
    tasks: z
      .array(task)
      .min(1)
      .max(100)
      // The API server refuses two tasks with the same name.
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }),
    keepJobsSeconds: z
      .int()
      .min(0)
      .default(3600)
      .describe('How long the Jobs stay, with their pods and logs, after the workflow has finished'),
  }),
  status: z.object({
    observedGeneration: z.int(),
    phase: z.enum(['Running', 'Succeeded', 'Failed', 'Invalid']),
    progress: z.string(),
    completionTime: z.iso.datetime(),
    tasks: z.array(taskStatus),
    conditions: z.array(
      z.object({
        type: z.string(),
        status: z.string(),
        reason: z.string(),
        message: z.string(),
        lastTransitionTime: z.iso.datetime(),
        observedGeneration: z.int().optional(),
      }),
    ),
  }),
  printerColumns: [
    { name: 'Phase', path: 'status.phase' },
    { name: 'Progress', path: 'status.progress' },
    { name: 'Finished', path: 'status.completionTime' },
    { name: 'Age', path: 'metadata.creationTimestamp' },
  ],
  selectableFields: ['status.phase'],
  rules: [
    {
      rule: 'size(self.metadata.name) <= 24',
      message: 'the name must have at most 24 characters, since it is a part of the names of Jobs',
    },
    {
      rule: 'self.spec.tasks == oldSelf.spec.tasks',
      message: 'the tasks cannot be changed: create another Workflow',
      fieldPath: 'spec.tasks',
    },
    {
      rule: 'self.spec.tasks.all(task, task.dependsOn.all(name, self.spec.tasks.exists(other, other.name == name)))',
      message: 'a task depends on a task that does not exist',
      fieldPath: 'spec.tasks',
    },
    {
      rule: 'self.spec.tasks.all(task, !(task.name in task.dependsOn))',
      message: 'a task cannot depend on itself',
      fieldPath: 'spec.tasks',
    },
  ],
})
