/**
 * Allows one server per directory. Each server creates a file named after its process, then looks for others: of two that start at the
 * same time, at least one sees the other. A lock of this machine and container is valid while its process runs. Processes of another
 * container or machine cannot be looked up, and may have the same number: their locks are valid as long as they are touched regularly.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { callAfter } from '../../util/async/clock.ts'
import { isProcessAlive, processIdentity } from '../../util/process/process-identity.ts'
import { cannotUse } from './damage.ts'

/** Locks of earlier versions do not name machine and container; they are treated as local. */
const pattern = /^lock-(\d+-\d+)(?:-([\da-f]{12}))?-[\da-f]{8}$/

const touchIntervalMs = 10_000
const maxSilenceMs = 60_000

export function isLock(name: string): boolean {
  return pattern.test(name)
}

/** Returns the function that unlocks the directory. */
export function lock(folder: string): () => void {
  const name = `lock-${processIdentity()}-${placeOfThisProcess()}-${randomBytes(4).toString('hex')}`
  const path = join(folder, name)
  writeFileSync(path, '.', { mode: 0o600, flag: 'wx' })
  const release = () => rmSync(path, { force: true })
  try {
    for (const other of readdirSync(folder)) if (other !== name) checkOther(folder, other, path)
  } catch (error) {
    release()
    throw error
  }
  const stopTouching = keepTouching(path)
  return () => {
    stopTouching()
    release()
  }
}

/** Identifies the machine since its last boot, and the container: process numbers are unique only within these. */
function placeOfThisProcess(): string {
  const parts = [hostname(), bootId(), pidNamespace()]
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 12)
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')
  } catch {
    return ''
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

function checkOther(folder: string, name: string, own: string): void {
  const [, identity, place = placeOfThisProcess()] = pattern.exec(name) ?? []
  if (identity === undefined) return
  if (place !== placeOfThisProcess()) checkForeign(folder, name, own)
  else if (isProcessAlive(identity)) {
    const pid = identity.split('-')[0]
    throw cannotUse(folder, `the server of process ${pid} uses it; stop that one, or name another directory`)
  }
  rmSync(join(folder, name), { force: true })
}

/** Compares two times of the same file system, because its clock may differ from the local one. */
function checkForeign(folder: string, name: string, own: string): void {
  const touched = statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs
  if (touched === undefined) return
  const silenceMs = statSync(own).mtimeMs - touched
  if (silenceMs > maxSilenceMs) return
  throw cannotUse(
    folder,
    'a server of another container or machine uses it, or was ended without warning less than a minute ago; stop that one, try again in a minute, or name another directory',
  )
}

/** The timer does not keep the process alive. A deleted lock is not created again. */
function keepTouching(path: string): () => void {
  let isHeld = true
  const touch = () => {
    if (!isHeld) return
    try {
      writeFileSync(path, '.', { flag: 'r+' })
    } catch {}
    callAfter(touchIntervalMs, touch)
  }
  callAfter(touchIntervalMs, touch)
  return () => {
    isHeld = false
  }
}
