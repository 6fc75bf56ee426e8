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
  const references = [objects].flat().map((object): ObjectReference => toObjectReference(object as Referable))
  const { poster, settings } = options

  const post = (level: LogLevel | undefined, event: EventContent): void => {
    if (!settings.enabled) return
    if (level !== undefined && !isAtLeast(level, settings.level)) return
    for (const reference of references) poster.post(reference, event)
  }

  return {
    event: ({ type, reason, message = '' }) => post(undefined, { type, reason, message }),
    info: (reason, message = '') => post('info', { type: 'Normal', reason, message }),
    warn: (reason, message = '') => post('warn', { type: 'Warning', reason, message }),
    exception(error, { reason, message } = {}) {
      const said = [message, toMessage(error)].filter((part) => part !== undefined && part !== '')
      post('error', { type: 'Error', reason: reason || toReason(error), message: said.join(' ') })
    },
    for: (others) => createRecorder(options, others as Referable | readonly Referable[]),
  }
}

function toReason(error: unknown): string {
  return error instanceof Error && error.name !== '' ? error.name : 'Error'
}

function toMessage(error: unknown): string {
  if (error instanceof Error) return toText(error.message)
  return error === undefined || error === null ? '' : toText(error)
}
