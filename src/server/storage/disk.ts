/**
 * The few things that the storage asks of a file system, in one directory. Here with Node's; tests have one that fails and
 * crashes as disks do. Knows files and bytes, nothing of objects.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** A file that is being written, from its beginning on. */
export interface NewFile {
  /** Appends; how many of the bytes were taken, which may be fewer than all. */
  write(bytes: Uint8Array): Promise<number>
  /** What was written outlives a loss of power, once this has resolved. */
  sync(): Promise<void>
  close(): Promise<void>
}

export interface Disk {
  /** For messages. */
  readonly folder: string
  list(): Promise<readonly string[]>
  size(name: string): Promise<number>
  /** So many bytes from there on; fewer only at the end of the file. */
  read(name: string, position: number, length: number): Promise<Buffer>
  /** Refuses a name that is taken. */
  create(name: string): Promise<NewFile>
  /** Cuts off what is behind so many bytes, for good. */
  truncate(name: string, length: number): Promise<void>
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  /** Names that came, changed and went outlive a loss of power. */
  syncNames(): Promise<void>
}

/** Secrets are among the objects. */
const ownerOnly = 0o600

export function createDisk(folder: string): Disk {
  const at = (name: string) => join(folder, name)
  return {
    folder,
    list: () => readdir(folder),
    size: (name) => withFile(at(name), constants.O_RDONLY, async (file) => (await file.stat()).size),
    read: (name, position, length) => withFile(at(name), constants.O_RDONLY, (file) => readAll(file, position, length)),
    async create(name) {
      const file = await open(at(name), 'wx', ownerOnly)
      return {
        write: async (bytes) => (await file.write(bytes)).bytesWritten,
        sync: () => file.datasync(),
        close: () => file.close(),
      }
    },
    truncate: (name, length) =>
      withFile(at(name), constants.O_RDWR, async (file) => {
        await file.truncate(length)
        await file.sync()
      }),
    rename: (from, to) => rename(at(from), at(to)),
    remove: (name) => rm(at(name), { force: true }),
    async syncNames() {
      // There, directories cannot be opened, and names are in the journal of the file system.
      if (process.platform === 'win32') return
      await withFile(folder, constants.O_RDONLY, (file) => file.sync())
    },
  }
}

async function withFile<T>(path: string, flags: number, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}

async function readAll(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

export async function writeAll(file: NewFile, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length; ) written += await file.write(bytes.subarray(written))
}
