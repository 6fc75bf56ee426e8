/** Errors about a data directory that cannot be used, with a remedy for the user. */
import { join } from 'node:path'
import { KopfError } from '../../errors.ts'
import type { Disk } from './disk.ts'

/** The only remedy: damaged content cannot be told from intended content. */
const advice = 'put the directory back from a copy, or name another one to begin with nothing'

export function damaged({ folder }: Disk, name: string, offset: number, what: string): KopfError {
  return cannotUse(folder, `"${join(folder, name)}" is damaged at byte ${offset}: ${what}; ${advice}`)
}

export function incomplete({ folder }: Disk, name: string): KopfError {
  return cannotUse(folder, `"${join(folder, name)}" is missing; ${advice}`)
}

export function cannotUse(folder: string, why: string, cause?: unknown): KopfError {
  return new KopfError('KOPF_SERVER_DATA', `Cannot use the data directory "${folder}": ${why}`, { cause })
}
