/** What is wrong with a data directory, in words for whoever has to put it right. */
import { join } from 'node:path'
import { KopfError } from '../../errors.ts'
import type { Disk } from './disk.ts'

/** The one advice there is: what is damaged cannot be told from what was meant. */
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
