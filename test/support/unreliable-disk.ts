/**
 * A simulated disk in memory. After a power loss, unsynced data may be lost, torn or complete; a test can make operations fail, or
 * stop all operations at a certain point.
 */
import type { Disk, NewFile } from '../../src/server/storage/disk.ts'

export type Operation = 'create' | 'write' | 'sync' | 'close' | 'truncate' | 'rename' | 'remove' | 'syncNames'

interface File {
  bytes: Buffer
  synced: number
}

export class UnreliableDisk implements Disk {
  readonly folder: string = '/data'

  /** The number of operations so far. */
  operations: number = 0

  /** From this operation on, no operation completes, as if the process had crashed. */
  stopAt: number = Number.POSITIVE_INFINITY

  /** Throws to make an operation fail; returns a number to limit the bytes of a write. */
  fault: (operation: Operation, name: string) => number | undefined = () => undefined

  #names = new Map<string, File>()
  #syncedNames = new Map<string, File>()

  /** The disk of the next process. With `chance`, the power was lost too, and chance decides about unsynced data. */
  afterCrash(chance?: () => number): UnreliableDisk {
    const next = new UnreliableDisk()
    const names = chance === undefined || chance() < 0.5 ? this.#names : this.#syncedNames
    for (const [name, { bytes, synced }] of names) {
      const kept = chance === undefined ? bytes.length : synced + Math.floor(chance() * (bytes.length - synced + 1))
      const content = Buffer.from(bytes.subarray(0, kept))
      // Blocks that were allocated but never written.
      if (chance !== undefined && chance() < 0.3) content.fill(0, Math.min(content.length, synced))
      next.put(name, content)
    }
    return next
  }

  put(name: string, bytes: Buffer): void {
    const file = { bytes, synced: bytes.length }
    this.#names.set(name, file)
    this.#syncedNames.set(name, file)
  }

  get(name: string): Buffer {
    return this.#file(name).bytes
  }

  async list(): Promise<string[]> {
    return [...this.#names.keys()]
  }

  async size(name: string): Promise<number> {
    return this.#file(name).bytes.length
  }

  async read(name: string, position: number, length: number): Promise<Buffer> {
    return this.#file(name).bytes.subarray(position, position + length)
  }

  async create(name: string): Promise<NewFile> {
    await this.#step('create', name)
    if (this.#names.has(name)) throw problem('EEXIST')
    const file: File = { bytes: Buffer.alloc(0), synced: 0 }
    this.#names.set(name, file)
    return {
      write: async (bytes) => {
        const taken = (await this.#step('write', name)) ?? bytes.length
        file.bytes = Buffer.concat([file.bytes, bytes.subarray(0, taken)])
        return Math.min(taken, bytes.length)
      },
      sync: async () => {
        await this.#step('sync', name)
        file.synced = file.bytes.length
      },
      close: async () => void (await this.#step('close', name)),
    }
  }

  async truncate(name: string, length: number): Promise<void> {
    await this.#step('truncate', name)
    const file = this.#file(name)
    file.bytes = file.bytes.subarray(0, length)
    file.synced = file.bytes.length
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#step('rename', from)
    this.#names.set(to, this.#file(from))
    this.#names.delete(from)
  }

  async remove(name: string): Promise<void> {
    await this.#step('remove', name)
    this.#names.delete(name)
  }

  async syncNames(): Promise<void> {
    await this.#step('syncNames', '')
    this.#syncedNames = new Map(this.#names)
  }

  #file(name: string): File {
    const file = this.#names.get(name)
    if (file === undefined) throw problem('ENOENT')
    return file
  }

  async #step(operation: Operation, name: string): Promise<number | undefined> {
    this.operations += 1
    if (this.operations >= this.stopAt) await new Promise(() => {})
    return this.fault(operation, name)
  }
}

export function problem(code: string): Error {
  return Object.assign(new Error(`${code}: the disk failed`), { code })
}
