/**
 * The file operations that storage needs, in one directory. Here with Node's file system; tests use a disk that fails and crashes.
 * Knows files and bytes, not objects.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** A file that is being written from its beginning. */
export interface NewFile {
  /** Appends. Returns the number of bytes written, which may be less than given. */
  write(bytes: Uint8Array): Promise<number>
  /** When this resolves, the written bytes survive a power loss. */
  sync(): Promise<void>
  close(): Promise<void>
}

export interface Disk {
  /** Used in messages. */
  readonly folder: string
  list(): Promise<readonly string[]>
  size(name: string): Promise<number>
  /** Reads `length` bytes from `position`; fewer only at the end of the file. */
  read(name: string, position: number, length: number): Promise<Buffer>
  /** Fails if the name exists. */
  create(name: string): Promise<NewFile>
  /** Shortens the file to `length` bytes, durably. */
  truncate(name: string, length: number): Promise<void>
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  /** Makes created, renamed and removed names survive a power loss. */
  syncNames(): Promise<void>
}

/** Readable by the owner only, since the objects include Secrets. */
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
      // Windows cannot open directories; NTFS journals names itself.
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
