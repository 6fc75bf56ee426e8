/** A log sink that also posts log lines about an object as events of the object, if `settings.posting.loggers` is set. */
import { toObjectReference } from '../kube/objects.ts'
import { formatMessage } from '../util/log/formats.ts'
import { forwardRecords, isAtLeast, type LogLevel, type LogRecord, type LogSink } from '../util/log/log.ts'
import type { Poster, PosterSettings } from './poster.ts'

/** Event types by log level, as in Kopf. Core v1 accepts any type. */
const eventTypes: Readonly<Record<LogLevel, string>> = {
  debug: 'Debug',
  info: 'Normal',
  warn: 'Warning',
  error: 'Error',
  fatal: 'Fatal',
}

export interface PostingSinkOptions {
  readonly poster: Poster
  readonly settings: PosterSettings
}

/** Wraps a sink. The level of the sink applies first: a line that is not logged is not posted either. */
export function createPostingSink(sink: LogSink, { poster, settings }: PostingSinkOptions): LogSink {
  return forwardRecords(sink, (record) => {
    if (!isPosted(record, settings)) return
    const event = { type: eventTypes[record.level], reason: 'Logging', message: formatMessage(record) }
    const reference = toObjectReference({ ...record.object, metadata: record.object })
    poster.post(reference, { ...event, backoffs: settings.loggingBackoffs })
  })
}

function isPosted({ level, object, isLocal }: LogRecord, settings: PosterSettings): boolean {
  if (object === undefined || isLocal) return false
  return settings.enabled && settings.loggers && isAtLeast(level, settings.level)
}
