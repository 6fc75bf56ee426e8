/**
 * Describes objects and diffs for debug logs. Lists the changed fields and never their values: custom resources and ConfigMaps may contain passwords,
 * and more users can read logs than the objects. Called by change-handling.ts.
 */
import { type DiffTuple, titles } from '../causation/cause.ts'
import { isHandlerReason } from '../handlers/matching.ts'
import type { KubeObject } from '../kube/objects.ts'
import { cutText } from '../util/log/error-text.ts'
import { type Logger, logsFrameworkLines } from '../util/log/log.ts'
import type { CauseView } from './cause-view.ts'
import type { Context } from './context.ts'

const maxItems = 20
const maxDepth = 20
const maxLength = 200

/** Identifies the state of an object: `generation 2, resourceVersion 1043`. */
export function describeState({ metadata }: KubeObject): string {
  const { generation, resourceVersion } = metadata
  const counted = generation === undefined ? [] : [`generation ${generation}`]
  return [...counted, `resourceVersion ${resourceVersion ?? 'unknown'}`].join(', ')
}

/** Lists the operations and fields of a diff: `change spec.replicas, add spec.paused`. */
export function describeDiff(diff: readonly DiffTuple[]): string {
  const items = diff.slice(0, maxItems).map(describeItem)
  const more = diff.length - items.length
  return more > 0 ? `${items.join(', ')} and ${more} more` : items.join(', ')
}

function describeItem([operation, field]: DiffTuple): string {
  const path = field.slice(0, maxDepth).join('.') || 'the whole object'
  return `${operation} ${cutText(path, maxLength)}${field.length > maxDepth ? '.…' : ''}`
}

/** Logs the cause that is handled now. Diffs are described only if debug lines are logged. */
export function logCause({ sink }: Context, logger: Logger, cause: CauseView): void {
  if (!logsFrameworkLines(sink, 'debug')) return
  if (!isHandlerReason(cause.reason)) {
    logger.debug('Something has changed, but we are not interested (the essence is the same).')
    return
  }
  const title = titles[cause.reason]
  logger.debug(`${title} is in progress: ${describeState(cause.body)}.`)
  const { old, diff } = cause.compared
  if (diff.length > 0 && old !== undefined) logger.debug(`${title} diff: ${describeDiff(diff)}.`)
}
