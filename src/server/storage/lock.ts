/**
 * One server to a directory. Each puts a file there whose name says which process it is, and then looks for others: of two that
 * come at once, at least one sees the other. What a process that is gone has left behind counts for nothing.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isProcessThere, processIdentity } from '../../util/processes.ts'
import { cannotUse } from './damage.ts'

const pattern = /^lock-(\d+-\d+)-[\da-f]{8}$/

export function isLock(name: string): boolean {
  return pattern.test(name)
}

/** Returns what gives the directory free again. */
export function lock(folder: string): () => void {
  const name = `lock-${processIdentity()}-${randomBytes(4).toString('hex')}`
  const unlock = () => rmSync(join(folder, name), { force: true })
  writeFileSync(join(folder, name), '', { mode: 0o600, flag: 'wx' })
  try {
    for (const other of readdirSync(folder)) if (other !== name) checkOther(folder, other)
  } catch (error) {
    unlock()
    throw error
  }
  return unlock
}

function checkOther(folder: string, name: string): void {
  const identity = pattern.exec(name)?.[1]
  if (identity === undefined) return
  if (isProcessThere(identity)) {
    const pid = identity.split('-')[0]
    throw cannotUse(folder, `the server of process ${pid} uses it; stop that one, or name another directory`)
  }
  rmSync(join(folder, name), { force: true })
}
