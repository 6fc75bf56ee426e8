/**
 * The data directory of a server: created or recognised, locked, readable by its owner only. Beside the objects it stores small named
 * texts: keys, certificates, tokens.
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
import { makeFolder } from '../../util/process/make-folder.ts'
import { cannotUse } from './damage.ts'
import { isLock, lock } from './lock.ts'
import type { ServerState } from './server-state.ts'
import { draftSuffix } from './snapshots.ts'

export interface DataDirectory extends ServerState {
  readonly folder: string
  /** Unlocks the directory for other servers. */
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
      get: (name) => readText(join(folder, stateFileName(name))),
      put: (name, text) => writeText(folder, stateFileName(name), text),
    }
  } catch (error) {
    if (error instanceof KopfError) throw error
    throw cannotUse(folder, explain(error as NodeJS.ErrnoException), error)
  }
}

function makeDurableFolder(folder: string): void {
  const first = makeFolder(folder, 0o700)
  if (first === undefined) return
  // Sync the parent directories too: otherwise a power loss can remove the new directory with everything in it.
  for (let made = folder; ; made = dirname(made)) {
    syncNames(dirname(made))
    if (made === first) return
  }
}

/** True if the directory is empty. Throws if it holds foreign files or a newer format. */
function checkContents(folder: string): boolean {
  const text = readText(join(folder, marker))
  if (text === undefined) {
    // A server that is stopped during its first start leaves only these files.
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

function stateFileName(name: string): string {
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

/** Writes a draft and renames it, so that there is never a partial file. */
function writeText(folder: string, name: string, text: string): void {
  const draft = join(folder, `${name}${draftSuffix}`)
  // A killed server leaves its draft behind. The draft is created exclusively, so it is never a link placed by another user.
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
  // Windows cannot open directories.
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
