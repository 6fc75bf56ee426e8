/** The clean-up of a deleted database, by its deletion policy. Each finished step is stored, so that it is not repeated after a restart. */
import { ApiError, type Args, type Body, type Client, isAlreadyExists, TemporaryError } from 'kopf'
import { Job, PersistentVolumeClaim, Secret, StatefulSet } from 'kopf/kubernetes'
import { buildLastBackup, resultOf } from './backups.ts'
import { find } from './credentials.ts'
import { claimName, databaseLabel, lastBackupName, secretName } from './names.ts'
import type { Database } from './resource.ts'

type CleanUpArgs = Omit<Args<'reconcile', typeof Database>, 'children'>

/** The other children are deleted when this function returns, and stay while it throws. */
export async function cleanUp(args: CleanUpArgs, server: Body<StatefulSet> | undefined): Promise<void> {
  const { name, spec, meta, client, step, logger } = args
  // With `kubectl delete --cascade=orphan`, Kubernetes leaves the server running: it needs its data.
  if (spec.deletionPolicy === 'Retain' || meta.finalizers?.includes('orphan')) return
  if (spec.deletionPolicy === 'Backup') await step('last backup', () => backUp(args))
  // The StatefulSet goes first: it would create the claim again, or later if it is a new one.
  if (server !== undefined) {
    const { uid } = server.metadata
    await find(client.delete(StatefulSet, name, uid === undefined ? {} : { preconditions: { uid } }))
    throw wait(args, 'Deleting', 'The server is being deleted')
  }
  report(args, 'Deleting', 'The data and the password are being deleted')
  await step('delete the data', () => deleteOwned(client, PersistentVolumeClaim, claimName(name), name))
  await step('delete the password', () => deleteOwned(client, Secret, secretName(name), name))
  logger.info('The data and the password are deleted')
}

function report({ conditions }: CleanUpArgs, reason: string, message: string): void {
  conditions.set({ type: 'Ready', status: false, reason, message })
  conditions.set({ type: 'Progressing', status: true, reason, message })
}

/** Reports the reason. The reconciler is called again when a Job or a child changes, and after the delay of the error. */
function wait(args: CleanUpArgs, reason: string, message: string): TemporaryError {
  report(args, reason, message)
  return new TemporaryError(message, { delay: '1m' })
}

const otherwise = 'change spec.deletionPolicy to Retain or Delete to continue without a backup'

/** Throws until the Job of the last backup is complete. */
async function backUp(args: CleanUpArgs): Promise<void> {
  const { name, uid, client } = args
  // A server that has no claim has never stored anything.
  if ((await find(client.get(PersistentVolumeClaim, claimName(name)))) === undefined) return
  const result = resultOf(await ensureLastBackup(args))
  if (result === 'complete') return
  const job = lastBackupName(name, uid)
  if (result === 'failed')
    throw wait(
      args,
      'BackupFailed',
      `The Job "${job}" of the last backup has failed: delete the Job to repeat it, or ${otherwise}`,
    )
  throw wait(args, 'BackingUp', `The last backup runs in the Job "${job}". If it cannot finish, ${otherwise}`)
}

async function ensureLastBackup(args: CleanUpArgs): Promise<Job> {
  const { name, uid, spec, client } = args
  if (spec.backup === undefined) throw wait(args, 'BackupFailed', `spec.backup is missing: ${otherwise}`)
  const job = lastBackupName(name, uid)
  const existing = await find(client.get(Job, job))
  if (existing !== undefined) return existing
  try {
    return await client.create(buildLastBackup(job, name, spec, spec.backup))
  } catch (error) {
    if (isAlreadyExists(error)) return await client.get(Job, job)
    if (!(error instanceof ApiError)) throw error
    // For example a quota, or the namespace is being deleted.
    throw wait(
      args,
      'BackupFailed',
      `The Job "${job}" of the last backup cannot be created: ${error.message}. Correct this, or ${otherwise}`,
    )
  }
}

/** Deletes the object only if it has the label of the database, and only this very object, by its uid. */
async function deleteOwned(
  client: Client,
  resource: typeof PersistentVolumeClaim | typeof Secret,
  objectName: string,
  name: string,
): Promise<void> {
  const found = await find(client.get(resource, objectName))
  const { labels, uid } = found?.metadata ?? {}
  if (uid === undefined || labels?.[databaseLabel] !== name) return
  await find(client.delete(resource, objectName, { preconditions: { uid } }))
}
