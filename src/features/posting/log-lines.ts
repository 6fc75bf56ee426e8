/** Log lines about an object as events of it, where `posting.loggers` says so. Put in front of the sink by running/. */
import { toObjectReference } from '../../kube/objects.ts'
import { isAtLeast, type LogLevel, type LogRecord, type LogSink } from '../../util/log.ts'
import { formatMessage } from '../../util/log-formats.ts'
import type { Poster } from './poster.ts'
import type { PostingSettings } from './settings.ts'

/** Kopf's words; core v1 takes any. */
const eventTypes: Readonly<Record<LogLevel, string>> = {
  debug: 'Debug',
  info: 'Normal',
  warn: 'Warning',
  error: 'Error',
  fatal: 'Fatal',
}

export interface PostingSinkOptions {
  readonly poster: Poster
  readonly settings: PostingSettings
}

/** What is not logged is not posted either: the level of the sink comes first. */
export function createPostingSink(sink: LogSink, { poster, settings }: PostingSinkOptions): LogSink {
  return {
    get minimumLevel() {
      return sink.minimumLevel
    },
    get frameworkLevel() {
      return sink.frameworkLevel
    },
    log(record) {
      sink.log(record)
      if (!isPosted(record, settings)) return
      const event = { type: eventTypes[record.level], reason: 'Logging', message: formatMessage(record) }
      const reference = toObjectReference({ ...record.object, metadata: record.object })
      poster.post(reference, { ...event, backoffs: settings.loggingBackoffs })
    },
  }
}

function isPosted({ level, object, isLocal }: LogRecord, settings: PostingSettings): boolean {
  if (object === undefined || isLocal) return false
  return settings.enabled && settings.loggers && isAtLeast(level, settings.level)
}
