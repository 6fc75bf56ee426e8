/** The definition of daemons and timers: both run for as long as the object exists. */
import {
  type CallForecast,
  commonOptions,
  type ExplainedState,
  filterOptions,
  type HandlerDefinition,
  type HandlerTypeInfo,
  progressIds,
  type Registration,
  retryArgs,
  retryOptions,
} from '../handlers/definition.ts'
import type { BackgroundHandler, BackgroundSpec } from '../handlers/handler.ts'
import { readDuration, readFlag, throwOptionError } from '../handlers/options.ts'
import { type Duration, toMs } from '../util/text/duration.ts'

const shared = [...commonOptions, ...retryOptions, ...filterOptions, 'initialDelay', 'finalizer']
const daemon: HandlerTypeInfo = {
  title: 'Daemon',
  options: [...shared, 'cancellationBackoff', 'cancellationTimeout', 'cancellationPolling'],
  errors: 'temporary',
  successLevel: 'info',
}

export const backgroundDefinition: HandlerDefinition<'background'> = {
  category: 'background',
  types: { daemon, timer: { ...daemon, title: 'Timer', options: [...shared, 'interval', 'sharp', 'idle'] } },
  parse: (registration) => ({ category: 'background', background: readBackground(registration) }),
  needsFinalizer: ({ options, subject }) => readFlag(options, 'finalizer', subject, true),
  idPurpose: progressIds,
  args: [...retryArgs, 'patch', 'conditions'],
  result: 'status',
  isWebhook: false,
  hasEssentialField: true,
  patchesObjects: true,
  explain: explainBackground,
}

function readBackground(registration: Registration): BackgroundSpec {
  const { type, options, subject } = registration
  return {
    initialDelay: readInitialDelay(options['initialDelay'], subject) ?? 0,
    schedule: type === 'timer' ? readTimerSchedule(registration) : undefined,
    cancellation: {
      backoffMs: readDuration(options, 'cancellationBackoff', subject),
      timeoutMs: readDuration(options, 'cancellationTimeout', subject),
      pollingMs: readDuration(options, 'cancellationPolling', subject),
    },
  }
}

/** The duration that a function returns is checked when it is called for an object. */
function readInitialDelay(value: unknown, subject: string): BackgroundSpec['initialDelay'] | undefined {
  if (value === undefined || typeof value === 'function') return value as ((args: never) => unknown) | undefined
  return toMs(value as Duration, `the initialDelay of ${subject}`)
}

function readTimerSchedule({ options, subject }: Registration): BackgroundSpec['schedule'] {
  const intervalMs = readDuration(options, 'interval', subject)
  const idleMs = readDuration(options, 'idle', subject)
  const sharp = readFlag(options, 'sharp', subject)
  if (intervalMs === undefined && idleMs === undefined) {
    throwOptionError(subject, 'it needs an "interval", or "idle" to be called after each change: { interval: 30 }')
  }
  if (intervalMs === 0)
    throwOptionError(subject, '"interval" must be longer than 0: to run without a pause, use a daemon')
  if (intervalMs === undefined && idleMs === 0) {
    throwOptionError(
      subject,
      'without an "interval", "idle" must be longer than 0: to be called with each change, use on.event',
    )
  }
  if (sharp && intervalMs === undefined)
    throwOptionError(subject, '"sharp" has no effect without an "interval": add one, or remove "sharp"')
  return { intervalMs, sharp, idleMs }
}

function explainBackground(
  { needsFinalizer }: BackgroundHandler,
  { deleting, hasFinalizer }: ExplainedState,
): CallForecast {
  if (deleting) return { verdict: 'no', why: 'The object is being deleted: the daemon or timer is stopped' }
  if (needsFinalizer && !hasFinalizer)
    return { verdict: 'later', why: 'It starts when the finalizer of the operator is on the object' }
  return { verdict: 'runs', why: 'It runs, unless it has ended by itself, which is not stored' }
}
