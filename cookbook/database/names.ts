/** The names and labels of all objects of a database, in one place. */

/** Set on all objects of a database, also on those without an owner reference: the data, the password and the last backup. */
export const databaseLabel = 'example.com/database'

export const labelsOf = (name: string) => ({ [databaseLabel]: name })

/** Backup pods have other labels than the server, so that the Service does not send connections to them. */
export const serverLabels = (name: string) => ({ ...labelsOf(name), 'example.com/component': 'server' })
export const backupLabels = (name: string) => ({ ...labelsOf(name), 'example.com/component': 'backup' })

export const secretName = (name: string) => `${name}-credentials`
export const cronJobName = (name: string) => `${name}-backup`
export const restoreJobName = (name: string) => `${name}-restore`

/** With a part of the uid: a later database of the same name gets a separate last backup. */
export const lastBackupName = (name: string, uid: string) => `${name}-last-backup-${uid.slice(0, 8)}`

/** The StatefulSet controller names claims after the template, the StatefulSet and the ordinal of the pod. */
export const claimTemplate = 'data'
export const claimName = (name: string) => `${claimTemplate}-${name}-0`
