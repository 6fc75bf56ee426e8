/** A PostgreSQL server for each `Database`: with a password, backups, a restore, volumes that grow, and a clean-up in steps. */
import { Operator, TemporaryError } from 'kopf'
import { CronJob, Job, PersistentVolumeClaim, Service, StatefulSet } from 'kopf/kubernetes'
import { buildBackups, buildRestore, type JobResult, resultOf } from './backups.ts'
import { ensureCredentials, type Problem } from './credentials.ts'
import { cleanUp } from './deletion.ts'
import { cronJobName, databaseLabel, restoreJobName } from './names.ts'
import { Database } from './resource.ts'
import { buildServer, buildService, templateStorageOf } from './server.ts'
import { resizeStorage, type Storage } from './storage.ts'

export { Database }

const kopf = new Operator({ name: 'database-operator' })
export default kopf

interface Labelled {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> }
}

/** Claims and the last backup have no owner reference. Their label says which database to look at when they change. */
const databaseOf = ({ metadata }: Labelled) => metadata.labels?.[databaseLabel]

kopf.reconcile(
  Database,
  {
    id: 'database',
    owns: [Service, StatefulSet, Job, CronJob],
    watches: [
      [PersistentVolumeClaim, databaseOf],
      [Job, databaseOf],
    ],
    cleanup: true,
  },
  async ({ children, ...args }) => {
    const { name, namespace, spec, status, patch, conditions, client, deleting } = args
    if (deleting) return void (await cleanUp(args, children.get(StatefulSet, name)))

    const problem = await ensureCredentials(client, name)
    if (problem !== undefined) {
      conditions.set({ type: 'Ready', status: false, ...problem })
      throw new TemporaryError(problem.message, { delay: '1m' })
    }

    const storage = await resizeStorage(client, name, spec.storage)
    if (storage.capacity !== undefined) patch.status.storage = storage.capacity
    if (storage.condition !== undefined) conditions.set({ type: 'StorageResized', ...storage.condition })

    const { backup, restoreFrom: file } = spec
    const restore = children.get(Job, restoreJobName(name))
    const restored = restore === undefined ? undefined : resultOf(restore)
    // The status remembers that the backup was restored. Only when this is written, the Job is deleted: it is never created again.
    const keepsJob = file !== undefined && status.restoredFrom === undefined
    const needsRestore = keepsJob && restored !== 'complete'
    if (keepsJob && restored === 'complete') patch.status.restoredFrom = file

    const server = children.get(StatefulSet, name)
    const state = stateOf((server?.status?.readyReplicas ?? 0) > 0, needsRestore, restored)
    conditions.set({ type: 'Ready', status: state.reason === 'Running', ...state })
    conditions.set({ type: 'Progressing', ...progressOf(state, storage.condition) })
    patch.status.host = `${name}.${namespace}.svc`
    const lastBackup = children.get(CronJob, cronJobName(name))?.status?.lastSuccessfulTime
    if (lastBackup !== undefined) patch.status.lastBackup = lastBackup

    return {
      children: [
        [buildService(name), buildServer(name, spec, templateStorageOf(server) ?? spec.storage)],
        // The server has to run before it can be restored, and is backed up when it is restored.
        backup !== undefined && keepsJob ? [buildRestore(name, spec, backup, file)] : [],
        backup === undefined ? [] : [buildBackups(name, spec, backup)],
      ],
      ...(keepsJob && !needsRestore && { requeueAfter: '1s' }),
    }
  },
)

function stateOf(isRunning: boolean, needsRestore: boolean, restored: JobResult | undefined): Problem {
  if (!isRunning) return { reason: 'Starting', message: 'The server is starting' }
  if (!needsRestore) return { reason: 'Running', message: 'The server accepts connections' }
  if (restored !== 'failed') return { reason: 'Restoring', message: 'The backup is being restored' }
  const message =
    'The backup cannot be restored: read the logs of the Job, correct the cause, and delete the Job to repeat it'
  return { reason: 'RestoreFailed', message }
}

function progressOf(state: Problem, storage: Storage['condition']): NonNullable<Storage['condition']> {
  if (state.reason === 'Starting' || state.reason === 'Restoring') return { status: true, ...state }
  if (storage?.reason === 'Growing') return { ...storage, status: true }
  return { status: false, reason: 'Settled', message: 'Nothing is under way' }
}
