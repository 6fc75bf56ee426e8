/** Backups and restores: pods that run pg_dump and pg_restore with the claim for backups. */
import { type Body, buildObject, type Spec } from 'kopf'
import { CronJob, Job } from 'kopf/kubernetes'
import { backupLabels, cronJobName, labelsOf, restoreJobName, secretName } from './names.ts'
import type { Database } from './resource.ts'
import { containerSecurity, imageOf, podSecurity } from './server.ts'

type Backup = NonNullable<Spec<typeof Database>['backup']>

/** A dump gets its final name when it is complete: a file with that name is never half a backup. */
const dumpScript = `set -eu
mkdir -p "/backups/$DATABASE"
cd "/backups/$DATABASE"
file="$(date -u +%Y%m%dT%H%M%SZ).dump"
pg_dump --format=custom --file="$file.partial"
mv "$file.partial" "$file"
find . -name '*.dump' -mtime "+$KEEP_DAYS" -delete
find . -name '*.partial' -mtime +1 -delete
echo "Wrote $DATABASE/$file"`

/** Restores into an empty database only, and all or nothing: the Job can be repeated, and never overwrites data. */
const restoreScript = `set -eu
tables="$(psql -tAc "select count(*) from pg_tables where schemaname = 'public'")"
if [ "$tables" != 0 ]; then echo "The database has $tables tables already: nothing is restored" >&2; exit 1; fi
pg_restore --exit-on-error --single-transaction --no-owner --dbname="$PGDATABASE" "/backups/$FILE"`

/** A backup that hangs would block all later ones, because the CronJob runs one at a time. */
const activeDeadlineSeconds = 86_400

/** A script, and the variables that it reads. */
interface Task {
  readonly script: string
  readonly env: Readonly<Record<string, string>>
}

function dump(name: string, { keepDays }: Backup): Task {
  return { script: dumpScript, env: { DATABASE: name, KEEP_DAYS: String(keepDays) } }
}

/** Runs a script with the connection of the database in its environment. The password is in no manifest. */
function podTemplate(name: string, spec: Spec<typeof Database>, backup: Backup, task: Task) {
  const fromSecret = (key: string) => ({ valueFrom: { secretKeyRef: { name: secretName(name), key } } })
  const container = {
    name: 'postgres',
    image: imageOf(spec),
    command: ['sh', '-c', task.script],
    env: [
      ...Object.entries(task.env).map(([name, value]) => ({ name, value })),
      { name: 'PGHOST', value: name },
      { name: 'PGUSER', ...fromSecret('username') },
      { name: 'PGPASSWORD', ...fromSecret('password') },
      { name: 'PGDATABASE', ...fromSecret('database') },
    ],
    volumeMounts: [{ name: 'backups', mountPath: '/backups' }],
    securityContext: containerSecurity,
  }
  return {
    metadata: { labels: backupLabels(name) },
    spec: {
      restartPolicy: 'Never',
      securityContext: podSecurity,
      containers: [container],
      volumes: [{ name: 'backups', persistentVolumeClaim: { claimName: backup.claim } }],
    },
  }
}

export function buildBackups(name: string, spec: Spec<typeof Database>, backup: Backup): CronJob {
  return buildObject(CronJob, {
    metadata: { name: cronJobName(name), labels: labelsOf(name) },
    spec: {
      schedule: backup.schedule,
      timeZone: 'Etc/UTC',
      concurrencyPolicy: 'Forbid',
      startingDeadlineSeconds: 3600,
      jobTemplate: {
        spec: { backoffLimit: 3, activeDeadlineSeconds, template: podTemplate(name, spec, backup, dump(name, backup)) },
      },
    },
  })
}

export function buildRestore(name: string, spec: Spec<typeof Database>, backup: Backup, file: string): Job {
  const restore = { script: restoreScript, env: { FILE: file } }
  return buildObject(Job, {
    metadata: { name: restoreJobName(name), labels: labelsOf(name) },
    spec: { backoffLimit: 3, template: podTemplate(name, spec, backup, restore) },
  })
}

/** The last backup has no owner reference: it outlives the Database for a day, with its logs. */
export function buildLastBackup(job: string, name: string, spec: Spec<typeof Database>, backup: Backup): Job {
  return buildObject(Job, {
    metadata: { name: job, labels: labelsOf(name) },
    spec: {
      backoffLimit: 3,
      activeDeadlineSeconds,
      ttlSecondsAfterFinished: 86_400,
      template: podTemplate(name, spec, backup, dump(name, backup)),
    },
  })
}

export type JobResult = 'running' | 'complete' | 'failed'

export function resultOf(job: Job | Body<Job>): JobResult {
  const has = (type: string) =>
    job.status?.conditions?.some((one) => one.type === type && one.status === 'True') ?? false
  if (has('Complete')) return 'complete'
  return has('Failed') ? 'failed' : 'running'
}
