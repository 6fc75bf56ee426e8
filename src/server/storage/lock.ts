/**
 * One server to a directory. Each puts a file there whose name says which process it is, and then looks for others: of two that come at once,
 * at least one sees the other. A lock of this machine and container counts while its process is there. Processes of another container or
 * machine cannot be asked for, and may have the same number: their locks count while the holder touches them.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { ringAfter } from '../../util/clock.ts'
import { isProcessThere, processIdentity } from '../../util/processes.ts'
import { cannotUse } from './damage.ts'

/** Locks of earlier versions have no place: they count as of this one. */
const pattern = /^lock-(\d+-\d+)(?:-([\da-f]{12}))?-[\da-f]{8}$/

const touchIntervalMs = 10_000
const maxSilenceMs = 60_000

export function isLock(name: string): boolean {
  return pattern.test(name)
}

/** Returns what gives the directory free again. */
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

/** The machine since its last start, and the container: only within one of these a process number means something. */
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
  else if (isProcessThere(identity)) {
    const pid = identity.split('-')[0]
    throw cannotUse(folder, `the server of process ${pid} uses it; stop that one, or name another directory`)
  }
  rmSync(join(folder, name), { force: true })
}

/** Both times are of the file system, whose clock may not be that of this machine. */
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

/** The timer does not keep the process alive. A lock that is gone is not made again. */
function keepTouching(path: string): () => void {
  let isHeld = true
  const touch = () => {
    if (!isHeld) return
    try {
      writeFileSync(path, '.', { flag: 'r+' })
    } catch {}
    ringAfter(touchIntervalMs, touch)
  }
  ringAfter(touchIntervalMs, touch)
  return () => {
    isHeld = false
  }
}
