/** What handlers post events with. Made for each call with its object; decides by the settings, and leaves the rest to poster.ts. */
import type { Recorder } from '../../core/handling/args.ts'
import { type ObjectReference, toObjectReference } from '../../kube/objects.ts'
import { isAtLeast, type LogLevel } from '../../util/log.ts'
import { toText } from '../../util/log-text.ts'
import type { EventContent } from './event-body.ts'
import type { Poster } from './poster.ts'
import type { PostingSettings } from './settings.ts'

/** Any Kubernetes object, as far as an event needs to know it. */
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
  readonly settings: PostingSettings
}

export function createRecorder(options: RecorderOptions, objects: Referable | readonly Referable[]): Recorder {
  const all: readonly Referable[] = Array.isArray(objects) ? objects : [objects]
  return new ObjectRecorder(options, all.map(toObjectReference))
}

/** Its functions can be taken apart from it, as from any other argument: `({ recorder: { info } }) => …`. */
class ObjectRecorder implements Recorder {
  readonly #options: RecorderOptions
  /** Not the objects: those of daemons would be kept as they once were. */
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
    const said = [message, toMessage(error)].filter((part) => part !== undefined && part !== '')
    this.#post('error', { type: 'Error', reason: reason || toReason(error), message: said.join(' ') })
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
