/**
 * What operators asked of the API server, as its audit log tells: the judge of how many requests something took.
 * A line is written before the answer goes out, so whoever has the answer finds the line.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

export interface AuditEntry {
  readonly user: string
  readonly verb: string
  /** Plural; empty where the request is not about a resource. */
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly code: number
  /** A watch has one line when it begins ("ResponseStarted") and one when it ends ("ResponseComplete"). */
  readonly stage: string
  /** When that stage was reached, in ms since 1970. */
  readonly at: number
  readonly uri: string
  /** Of the object answered; only at the level "RequestResponse", and not when the write was the end of the object. */
  readonly resourceVersion: string | undefined
}

interface Line {
  user: { username: string }
  verb: string
  stage: string
  requestURI: string
  stageTimestamp: string
  objectRef?: { resource?: string; subresource?: string; namespace?: string; name?: string }
  responseStatus?: { code?: number }
  responseObject?: { metadata?: Metadata }
}

interface Metadata {
  name?: string
  resourceVersion?: string
  deletionTimestamp?: string
  finalizers?: string[]
}

const writes = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

export function isWrite(entry: AuditEntry): boolean {
  return writes.has(entry.verb)
}

/** Reads on from where it was left: each entry is handed out once. */
export class AuditLog {
  readonly #path: string
  #offset = 0
  #rest: Buffer = Buffer.alloc(0)

  constructor(path: string) {
    this.#path = path
  }

  /** Everything since the last call. */
  read(): AuditEntry[] {
    const bytes = Buffer.concat([this.#rest, this.#readBytes()])
    const end = bytes.lastIndexOf(10) + 1
    this.#rest = bytes.subarray(end)
    const lines = bytes.subarray(0, end).toString().split('\n')
    return lines.filter((line) => line !== '').map((line) => toEntry(JSON.parse(line) as Line))
  }

  #readBytes(): Buffer {
    const file = openSync(this.#path, 'r')
    try {
      const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - this.#offset))
      const count = readSync(file, bytes, 0, bytes.length, this.#offset)
      this.#offset += count
      return bytes.subarray(0, count)
    } finally {
      closeSync(file)
    }
  }
}

function toEntry(line: Line): AuditEntry {
  const { resource = '', subresource = '', namespace = '', name } = line.objectRef ?? {}
  return {
    user: line.user.username,
    verb: line.verb,
    resource,
    subresource,
    namespace,
    name: name ?? line.responseObject?.metadata?.name ?? '',
    code: line.responseStatus?.code ?? 0,
    stage: line.stage,
    at: Date.parse(line.stageTimestamp),
    uri: line.requestURI,
    resourceVersion: versionOf(line.responseObject?.metadata),
  }
}

/** Where the last finalizer goes, the answer has the version of before: there is none after. */
function versionOf({ resourceVersion, deletionTimestamp, finalizers }: Metadata = {}): string | undefined {
  const isGone = deletionTimestamp !== undefined && finalizers === undefined
  return isGone ? undefined : resourceVersion
}
