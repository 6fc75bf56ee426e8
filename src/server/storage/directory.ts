/**
 * The directory in which a server keeps what it holds: made or recognised, locked, readable by its owner alone. Beside the
 * objects, small texts can be kept in it by name: keys, certificates, tokens.
 */
import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { KopfError } from '../../errors.ts'
import { makeFolder } from '../../util/make-folder.ts'
import { cannotUse } from './damage.ts'
import type { Keepsakes } from './keepsakes.ts'
import { isLock, lock } from './lock.ts'
import { draftSuffix } from './snapshots.ts'

export interface DataDirectory extends Keepsakes {
  readonly folder: string
  /** Gives it free for other servers. */
  close(): void
}

const format = 1
const marker = 'kopf-data'

export function openDirectory(path: string): DataDirectory {
  const folder = resolve(path)
  try {
    makeDurableFolder(folder)
    const isNew = checkContents(folder)
    chmodSync(folder, 0o700)
    const unlock = lock(folder)
    if (isNew) writeText(folder, marker, `The data of an embedded server of kopf, format ${format}\n`)
    return {
      folder,
      close: unlock,
      recall: (name) => readText(join(folder, keepsakeName(name))),
      remember: (name, text) => writeText(folder, keepsakeName(name), text),
    }
  } catch (error) {
    if (error instanceof KopfError) throw error
    throw cannotUse(folder, explain(error as NodeJS.ErrnoException), error)
  }
}

function makeDurableFolder(folder: string): void {
  const first = makeFolder(folder, 0o700)
  if (first === undefined) return
  // A directory that is gone after a loss of power keeps nothing.
  for (let made = folder; ; made = dirname(made)) {
    syncNames(dirname(made))
    if (made === first) return
  }
}

/** Whether there is nothing in it yet. Refuses what others have put there, and what is of a time to come. */
function checkContents(folder: string): boolean {
  const text = readText(join(folder, marker))
  if (text === undefined) {
    // A server that was stopped at its very first step leaves no more than these.
    const others = readdirSync(folder).filter(
      (name) => !isLock(name) && !name.endsWith(draftSuffix) && name !== 'lost+found',
    )
    if (others.length === 0) return true
    throw cannotUse(
      folder,
      `it holds "${others[0]}" and is none of this server's; name a new directory, or an empty one`,
    )
  }
  const known = /^The data of an embedded server of kopf, format (\d+)$/m.exec(text)?.[1]
  if (known === undefined)
    throw cannotUse(folder, `"${marker}" in it says nothing of its format; put it back from a copy`)
  if (Number(known) <= format) return false
  const why = `it is of format ${known}, and this version of kopf knows format ${format} and older`
  throw cannotUse(folder, `${why}; use the version that has written it, or name another directory`)
}

function keepsakeName(name: string): string {
  if (!/^[a-z\d-]+$/.test(name)) throw new TypeError(`Not a name of something to keep: "${name}"`)
  return `${name}.keep`
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Beside it and then in its place: there is never half a file. */
function writeText(folder: string, name: string, text: string): void {
  const draft = join(folder, `${name}${draftSuffix}`)
  // A server that was killed leaves a draft behind. Created exclusively, a draft is never a link of another user.
  rmSync(draft, { force: true })
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(draft, join(folder, name))
  syncNames(folder)
}

function syncNames(folder: string): void {
  // There, directories cannot be opened.
  if (process.platform === 'win32') return
  const names = openSync(folder, 'r')
  try {
    fsyncSync(names)
  } finally {
    closeSync(names)
  }
}

const problems: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use it; name another one',
  EPERM: 'this user may not use it; name another one',
  ENOENT: 'no directory can be created there; name another one',
  EROFS: 'nothing can be written there; name another one',
  ENOSPC: 'there is no room left on its disk; make some',
  ENOTDIR: 'it is no directory, or in none; name another one',
  EEXIST: 'it is no directory; name another one',
}

function explain({ code = '', message }: NodeJS.ErrnoException): string {
  return problems[code] ?? message
}
