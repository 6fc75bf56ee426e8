/**
 * Replaces a file atomically: writes a temporary file beside it and renames that. Safe in folders that other users can write to, such
 * as /tmp: the temporary file has a random name and is created exclusively (`O_EXCL`), and links of other users are not
 * followed. Used for the kubeconfig of `kopf server` and for `cadump` of webhook servers.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'

export interface Replacement {
  readonly text: string
  /** The permissions of the new file, regardless of the old file's. */
  readonly mode: number
  /** Called with the text of the existing file (empty if there is none); throws if it must not be replaced. */
  readonly check?: (present: string) => void
}

/** `O_NOFOLLOW` and `O_NONBLOCK` do not exist on Windows. */
const noFollow = constants.O_NOFOLLOW ?? 0
const noBlock = constants.O_NONBLOCK ?? 0

export async function replaceFile(path: string, { text, mode, check }: Replacement): Promise<void> {
  const target = await resolveTarget(resolve(path))
  const present = await readPresent(target)
  check?.(present)
  const draft = join(dirname(target), `.${basename(target)}.${randomBytes(8).toString('hex')}`)
  try {
    await writeDraft(draft, text, mode)
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** Resolves a link of this user, as dotfiles managers create them. A link of another user may point anywhere and is an error. */
async function resolveTarget(path: string): Promise<string> {
  const present = await lstat(path).catch(ignoreMissing)
  if (!present?.isSymbolicLink()) return path
  if (!isOwn(present.uid)) throw new Error('it is a link that belongs to another user; name another file')
  const target = await realpath(path).catch((cause: NodeJS.ErrnoException) => {
    throw new Error('it is a link to a file that does not exist; remove the link', { cause })
  })
  if (!isOwn((await lstat(target)).uid)) {
    throw new Error('it is a link to a file that belongs to another user; name another file')
  }
  return target
}

/** Windows has no user ids; creating links needs a privilege there. */
function isOwn(uid: number): boolean {
  return process.geteuid === undefined || process.geteuid() === uid
}

/** Never reads a pipe or a device, which could block forever. */
async function readPresent(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | noFollow | noBlock).catch(ignoreMissing)
  if (file === undefined) return ''
  try {
    const stats = await file.stat()
    if (stats.isDirectory()) throw Object.assign(new Error('it is a folder'), { code: 'EISDIR' })
    if (!stats.isFile()) throw new Error('it is not a regular file; name another file')
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

async function writeDraft(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow, mode)
  try {
    await file.writeFile(text)
  } finally {
    await file.close()
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
