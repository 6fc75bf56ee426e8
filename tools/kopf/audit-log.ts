/**
 * Reads the audit log of the API server, to count the requests of an operator.
 * The server writes a line before it sends the response, so a client that has the response finds the line.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

export interface AuditEntry {
  readonly user: string
  readonly verb: string
  /** Plural; empty for non-resource requests. */
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly code: number
  /** A watch has one line at its start ("ResponseStarted") and one at its end ("ResponseComplete"). */
  readonly stage: string
  /** When that stage was reached, in ms since 1970. */
  readonly at: number
  readonly uri: string
  /** The version of the object in the response; only at the level "RequestResponse", and not if the write deleted the object. */
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

/** Each call of `read` continues at the end of the last one, so every entry is returned once. */
export class AuditLog {
  readonly #path: string
  #offset = 0
  #rest: Buffer = Buffer.alloc(0)

  constructor(path: string) {
    this.#path = path
  }

  /** The entries since the last call. */
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

/** A patch that removes the last finalizer deletes the object; its response has the old version, since there is no new one. */
function versionOf({ resourceVersion, deletionTimestamp, finalizers }: Metadata = {}): string | undefined {
  const isGone = deletionTimestamp !== undefined && finalizers === undefined
  return isGone ? undefined : resourceVersion
}
