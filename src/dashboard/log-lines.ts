/** The last log lines of each object, without secrets: fed by the tap of the log sink, read by the view of an object. Bounded. */

import type { ObjectRef } from '../journal/entries.ts'
import { keyOf } from '../journal/journal.ts'
import { maskTextOf } from '../journal/mask.ts'
import { ObjectRings } from '../journal/object-rings.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import type { ObservedObject } from '../observer.ts'
import type { Clock } from '../util/async/clock.ts'
import { formatMessage } from '../util/log/formats.ts'
import type { LogRecord } from '../util/log/log.ts'
import type { LogRow } from './protocol.ts'

const limits = { entriesPerObject: 100, maxBytes: 2 * 1024 * 1024 }
const maxMessageLength = 500

export interface LogLinesOptions {
  readonly clock: Clock
  /** The served resource of a kind. */
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined
  readonly bodyOf: (object: ObservedObject) => KubeObject | undefined
}

export class LogLines {
  readonly #options: LogLinesOptions
  readonly #rings = new ObjectRings<LogRow>(limits)

  constructor(options: LogLinesOptions) {
    this.#options = options
  }

  readonly add = (record: LogRecord): void => {
    const { object, level } = record
    if (object === undefined) return
    const { clock, resourceOf, bodyOf } = this.#options
    const resource = resourceOf(object.apiVersion ?? '', object.kind ?? '')
    if (resource === undefined) return
    const ref = { name: object.name ?? '', namespace: object.namespace ?? undefined, uid: object.uid ?? undefined }
    const message = maskTextOf(bodyOf({ resource, ...ref }), formatMessage(record), maxMessageLength)
    const { name, namespace } = ref
    const key = keyOf({ resource: formatResource(resource), name, ...(namespace !== undefined && { namespace }) })
    this.#rings.add(key, { atMs: clock.now(), level: level === 'fatal' ? 'error' : level, message })
  }

  /** Oldest first. */
  read(object: ObjectRef): readonly LogRow[] {
    return this.#rings.read(keyOf(object)).entries
  }
}
