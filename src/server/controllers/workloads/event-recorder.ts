/** Records Kubernetes events for a controller, as shown by `kubectl describe`. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { ServerContext } from '../../call.ts'
import { StatusError } from '../../status.ts'
import { timestamp } from '../../verbs/write.ts'
import type { ObjectWriter } from './object-writer.ts'

export class EventRecorder {
  readonly #parts: ServerContext
  readonly #writer: ObjectWriter
  readonly #component: string

  /** Makes the names of events within the same millisecond unique. */
  #count = 0

  constructor(parts: ServerContext, writer: ObjectWriter, component: string) {
    this.#parts = parts
    this.#writer = writer
    this.#component = component
  }

  /** A rejected event is ignored. */
  async record(object: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): Promise<void> {
    try {
      await this.#writer.create(this.#eventOf(object, { type, reason, message }))
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
    }
  }

  #eventOf({ apiVersion, kind, metadata }: KubeObject, what: object): KubeObject {
    const { name = '', namespace = 'default', uid = '', resourceVersion = '' } = metadata
    const nanoseconds = BigInt(Math.floor(this.#parts.clock.now())) * 1_000_000n + BigInt(this.#count++ % 1_000_000)
    const now = timestamp(this.#parts)
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.${nanoseconds.toString(16)}`, namespace },
      involvedObject: { apiVersion, kind, name, namespace, uid, resourceVersion },
      ...what,
      source: { component: this.#component },
      reportingComponent: this.#component,
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    }
  }
}
