/** The clean-up of a deleted database, by its deletion policy. Each finished step is stored, so that it is not repeated after a restart. */
import { type Args, type Client, isAlreadyExists, TemporaryError } from 'kopf'
import { Job, PersistentVolumeClaim, Secret } from 'kopf/kubernetes'
import { buildLastBackup, resultOf } from './backups.ts'
import { find } from './credentials.ts'
import { claimName, databaseLabel, lastBackupName, secretName } from './names.ts'
import type { Database } from './resource.ts'

type CleanUpArgs = Omit<Args<'reconcile', typeof Database>, 'children'>

/** The server itself is a child: it is deleted when this function returns, and stays while it throws. */
export async function cleanUp({ name, uid, spec, client, step, conditions, logger }: CleanUpArgs): Promise<void> {
  const report = (reason: string, message: string) => {
    conditions.set({ type: 'Ready', status: false, reason, message })
    conditions.set({ type: 'Progressing', status: true, reason, message })
  }
  if (spec.deletionPolicy === 'Retain') return
  if (spec.deletionPolicy === 'Backup') {
    await step('last backup', async () => {
      const job = await ensureLastBackup(client, { name, uid, spec })
      const result = resultOf(job)
      if (result === 'complete') return
      const jobName = lastBackupName(name, uid)
      if (result === 'running') {
        report('BackingUp', `The last backup runs in the Job "${jobName}"`)
        throw new TemporaryError(`The Job "${jobName}" is not complete`, { delay: '30s' })
      }
      const message = `The Job "${jobName}" of the last backup has failed. Delete the Job to repeat it, or change spec.deletionPolicy to Retain or Delete`
      report('BackupFailed', message)
      throw new TemporaryError(message, { delay: '1m' })
    })
  }
  report('Deleting', 'The data and the password are being deleted')
  await step('delete the data', () => deleteOwned(client, PersistentVolumeClaim, claimName(name), name))
  await step('delete the password', () => deleteOwned(client, Secret, secretName(name), name))
  logger.info('The data and the password are deleted')
}

async function ensureLastBackup(
  client: Client,
  { name, uid, spec }: Pick<CleanUpArgs, 'name' | 'uid' | 'spec'>,
): Promise<Job> {
  const { backup } = spec
  if (backup === undefined) throw new TemporaryError('deletionPolicy "Backup" needs spec.backup', { delay: '1m' })
  const jobName = lastBackupName(name, uid)
  const existing = await find(client.get(Job, jobName))
  if (existing !== undefined) return existing
  try {
    return await client.create(buildLastBackup(jobName, name, spec, backup))
  } catch (error) {
    if (isAlreadyExists(error)) return await client.get(Job, jobName)
    throw error
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
