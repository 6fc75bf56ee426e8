/** Cases for Deployments and the other kinds of apps, for jobs and cron jobs. */
import { type Case, selector, template } from './case.ts'

const apps = (plural: string, name: string, spec: object, more: Partial<Case> = {}): Case => ({
  name,
  resource: `apps/v1/${plural}`,
  body: { spec },
  ...more,
})
const batch = (plural: string, name: string, spec: object, more: Partial<Case> = {}): Case => ({
  name,
  resource: `batch/v1/${plural}`,
  body: { spec },
  ...more,
})
const good = { selector, template: template() }
const never = { template: template({ a: 'b' }, { restartPolicy: 'Never' }) }
const hourly = { schedule: '0 * * * *', jobTemplate: { spec: never } }
const claims = [
  { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
]

export const workloadCases: readonly Case[] = [
  apps('deployments', 'a deployment', good),
  apps('deployments', 'a deployment that recreates', {
    ...good,
    strategy: { type: 'Recreate' },
    replicas: 0,
    minReadySeconds: 5,
  }),
  apps('deployments', 'a deployment without anything', {}),
  apps('deployments', 'a deployment with an empty selector', { ...good, selector: {} }),
  apps('deployments', 'a deployment whose selector does not match', { ...good, template: template({ app: 'other' }) }),
  apps('deployments', 'a deployment with a bad selector', {
    ...good,
    selector: {
      matchExpressions: [
        { key: 'a b', operator: 'Is' },
        { key: 'a', operator: 'In' },
        { key: 'a', operator: 'Exists', values: ['b'] },
      ],
    },
  }),
  apps('deployments', 'a deployment with negative replicas', {
    ...good,
    replicas: -1,
    minReadySeconds: -1,
    revisionHistoryLimit: -1,
    progressDeadlineSeconds: -1,
  }),
  apps('deployments', 'a deployment with a bad strategy', { ...good, strategy: { type: 'Slow' } }),
  apps('deployments', 'a deployment that recreates and rolls', {
    ...good,
    strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } },
  }),
  apps('deployments', 'a deployment that can neither surge nor miss', {
    ...good,
    strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } },
  }),
  apps('deployments', 'a deployment with bad percentages', {
    ...good,
    strategy: { rollingUpdate: { maxSurge: 'some', maxUnavailable: '200%' } },
  }),
  apps('deployments', 'a deployment of pods that end', {
    ...good,
    template: template({ app: 'web' }, { restartPolicy: 'Never', activeDeadlineSeconds: 5 }),
  }),
  apps('deployments', 'a string for replicas', { ...good, replicas: '3' }),
  apps('deployments', 'another selector', good, {
    patch: { spec: { selector: { matchLabels: { b: 'c' } }, template: { metadata: { labels: { b: 'c' } } } } },
  }),
  apps('deployments', 'more replicas', good, { patch: { spec: { replicas: 5 } } }),
  apps('deployments', 'an annotation of a deployment', good, { patch: { metadata: { annotations: { a: 'b' } } } }),
  apps('deployments', 'a label of a deployment', good, { patch: { metadata: { labels: { a: 'b' } } } }),
  apps('deployments', 'a status of a deployment', good, {
    patch: { status: { replicas: 2, readyReplicas: 1 }, metadata: { labels: { a: 'b' } } },
    status: true,
  }),
  apps('deployments', 'an impossible status', good, {
    patch: { status: { replicas: 1, readyReplicas: 2, availableReplicas: 3, unavailableReplicas: -1 } },
    status: true,
  }),
  apps('replicasets', 'a replica set', good),
  apps('replicasets', 'a replica set without a selector', { template: template() }),
  apps('replicasets', 'a status of a replica set', good, {
    patch: { status: { replicas: 1, fullyLabeledReplicas: 2 } },
    status: true,
  }),
  apps('statefulsets', 'a stateful set', { ...good, serviceName: 'web', volumeClaimTemplates: claims }),
  apps('statefulsets', 'a stateful set that mounts its claim', {
    ...good,
    serviceName: 'web',
    volumeClaimTemplates: claims,
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'a', image: 'a', volumeMounts: [{ name: 'data', mountPath: '/a' }] }] },
    },
  }),
  apps('statefulsets', 'a stateful set with bad policies', {
    ...good,
    podManagementPolicy: 'Any',
    updateStrategy: { type: 'Never' },
    serviceName: 'A',
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'X' },
  }),
  apps('statefulsets', 'a stateful set without a selector', { template: template() }),
  apps(
    'statefulsets',
    'another service of a stateful set',
    { ...good, serviceName: 'a' },
    { patch: { spec: { serviceName: 'b' } } },
  ),
  apps(
    'statefulsets',
    'more replicas of a stateful set',
    { ...good, serviceName: 'a' },
    { patch: { spec: { replicas: 2 } } },
  ),
  apps('daemonsets', 'a daemon set', good),
  apps('daemonsets', 'a daemon set without a selector', { template: template() }),
  apps('daemonsets', 'a daemon set with a bad strategy', { ...good, updateStrategy: { type: 'X' } }),
  apps('daemonsets', 'a daemon set that surges and misses', {
    ...good,
    updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
  }),
  apps('daemonsets', 'another template of a daemon set', good, {
    patch: { spec: { template: { spec: { hostPID: true } } } },
  }),
  apps('controllerrevisions', 'a revision', {}, { body: { revision: 1, data: { spec: { a: null, b: [1] } } } }),
  apps('controllerrevisions', 'a revision without data', {}, { body: { revision: -1 } }),
  batch('jobs', 'a job', never),
  batch('jobs', 'a job that always restarts', { template: template() }),
  batch('jobs', 'a job of several', { ...never, completions: 3, parallelism: 2, completionMode: 'Indexed' }),
  batch('jobs', 'a job with bad numbers', {
    ...never,
    completions: -1,
    parallelism: -1,
    backoffLimit: -1,
    activeDeadlineSeconds: -1,
    ttlSecondsAfterFinished: -1,
  }),
  batch('jobs', 'a job with a bad mode', { ...never, completionMode: 'X', podReplacementPolicy: 'Y' }),
  batch('jobs', 'an indexed job without completions', { ...never, completionMode: 'Indexed', parallelism: 1 }),
  batch('jobs', 'a job with a selector of its own', { ...never, selector: { matchLabels: { a: 'b' } } }),
  batch('jobs', 'a job with a manual selector', {
    ...never,
    manualSelector: true,
    selector: { matchLabels: { a: 'b' } },
  }),
  batch('jobs', 'a suspended job', never, { patch: { spec: { suspend: true, parallelism: 3 } } }),
  batch('jobs', 'other completions', never, { patch: { spec: { completions: 5 } } }),
  batch('cronjobs', 'a cron job', hourly),
  batch('cronjobs', 'a cron job without anything', {}),
  batch('cronjobs', 'a cron job with a bad schedule', { ...hourly, schedule: 'hourly' }),
  batch('cronjobs', 'a cron job with a minute out of range', { ...hourly, schedule: '61 * * * *' }),
  batch('cronjobs', 'a cron job with a range the wrong way round', { ...hourly, schedule: '5-1 * * * *' }),
  batch('cronjobs', 'a cron job with a word for a number', { ...hourly, schedule: '* x * * *' }),
  batch('cronjobs', 'a cron job with names and steps', { ...hourly, schedule: '*/5 0-6/2 1,15 JAN-MAR mon-fri' }),
  batch('cronjobs', 'a cron job by a word', { ...hourly, schedule: '@daily' }),
  batch('cronjobs', 'a cron job by an unknown word', { ...hourly, schedule: '@sometimes' }),
  batch('cronjobs', 'a cron job every so often', { ...hourly, schedule: '@every 1h30m' }),
  batch('cronjobs', 'a cron job with a time zone in its schedule', { ...hourly, schedule: 'TZ=UTC 0 * * * *' }),
  batch('cronjobs', 'a cron job in a time zone', { ...hourly, timeZone: 'Europe/Berlin', concurrencyPolicy: 'Forbid' }),
  batch('cronjobs', 'a cron job in no time zone', { ...hourly, timeZone: 'Europe/Nowhere', concurrencyPolicy: 'X' }),
  batch('cronjobs', 'a cron job of pods that restart', { ...hourly, jobTemplate: { spec: { template: template() } } }),
  batch('cronjobs', 'another schedule', hourly, { patch: { spec: { schedule: '* * * * *' } } }),
]
