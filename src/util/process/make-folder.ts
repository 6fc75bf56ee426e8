/**
 * Creates a folder with all its parents. Node's recursive `mkdir` never returns if the file system answers ENOENT although
 * the parent exists, as for /proc and for a dangling link: Node assumes a missing parent and retries forever.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Returns the outermost created folder; undefined if the folder existed. Throws errors with a `code`, as Node does. */
export function makeFolder(path: string, mode: number = 0o777): string | undefined {
  const missing: string[] = []
  let folder = resolve(path)
  while (!existsSync(folder) && dirname(folder) !== folder) {
    missing.push(folder)
    folder = dirname(folder)
  }
  if (!statSync(folder).isDirectory()) throw notDirectory(folder, missing.length === 0 ? 'EEXIST' : 'ENOTDIR')
  for (const one of missing.toReversed()) makeOne(one, mode)
  return missing.at(-1)
}

/** Another process may create the same folder at the same time. */
function makeOne(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(folder).isDirectory()) throw error
  }
}

function notDirectory(path: string, code: 'EEXIST' | 'ENOTDIR'): Error {
  return Object.assign(new Error(`${code}: "${path}" is not a directory`), { code })
}
