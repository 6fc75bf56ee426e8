/** The `recorder` argument of handlers: filters events by the settings and passes them to poster.ts. One per call, for its object. */
import type { Recorder } from '../handlers/args/args.ts'
import { type ObjectReference, toObjectReference } from '../kube/objects.ts'
import { toText } from '../util/log/error-text.ts'
import { isAtLeast, type LogLevel } from '../util/log/log.ts'
import type { EventContent } from './event-body.ts'
import type { Poster, PosterSettings } from './poster.ts'

/** The fields of a Kubernetes object that an event refers to. */
export interface Referable {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?:
    | {
        readonly name?: string | undefined
        readonly namespace?: string | undefined
        readonly uid?: string | undefined
      }
    | undefined
}

export interface RecorderOptions {
  readonly poster: Poster
  readonly settings: PosterSettings
}

export function createRecorder(options: RecorderOptions, objects: Referable | readonly Referable[]): Recorder {
  const all: readonly Referable[] = Array.isArray(objects) ? objects : [objects]
  return new ObjectRecorder(options, all.map(toObjectReference))
}

/** Its functions work without `this`, so that handlers can destructure them: `({ recorder: { info } }) => …`. */
class ObjectRecorder implements Recorder {
  readonly #options: RecorderOptions
  /** References only: the recorder of a daemon would otherwise keep an outdated object in memory. */
  readonly #references: readonly ObjectReference[]

  constructor(options: RecorderOptions, references: readonly ObjectReference[]) {
    this.#options = options
    this.#references = references
  }

  readonly event: Recorder['event'] = ({ type, reason, message = '' }) =>
    this.#post(undefined, { type, reason, message })

  readonly info: Recorder['info'] = (reason, message = '') => this.#post('info', { type: 'Normal', reason, message })

  readonly warn: Recorder['warn'] = (reason, message = '') => this.#post('warn', { type: 'Warning', reason, message })

  readonly exception: Recorder['exception'] = (error, { reason, message } = {}) => {
    const parts = [message, toMessage(error)].filter((part) => part !== undefined && part !== '')
    this.#post('error', { type: 'Error', reason: reason || toReason(error), message: parts.join(' ') })
  }

  readonly for: Recorder['for'] = (others) => createRecorder(this.#options, others as Referable | readonly Referable[])

  #post(level: LogLevel | undefined, event: EventContent): void {
    const { poster, settings } = this.#options
    if (!settings.enabled) return
    if (level !== undefined && !isAtLeast(level, settings.level)) return
    for (const reference of this.#references) poster.post(reference, event)
  }
}

function toReason(error: unknown): string {
  return error instanceof Error && error.name !== '' ? error.name : 'Error'
}

function toMessage(error: unknown): string {
  if (error instanceof Error) return toText(error.message)
  return error === undefined || error === null ? '' : toText(error)
}
