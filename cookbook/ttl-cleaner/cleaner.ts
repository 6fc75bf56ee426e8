/** Creates the operator. Each object with one of the annotations has one timer; objects are never polled. */
import {
  EVERYTHING,
  isConflict,
  isNotFound,
  Operator,
  type ReconcileArgs,
  type Reconciled,
  type ResourceLike,
} from 'kopf'
import type { CleanerConfig } from './config.ts'
import { expiryOf, hasTtl } from './expiry.ts'

interface CleanerMemo {
  /** The last message about the object, so that a change of its status does not repeat the message. */
  reported?: string
}

type CleanerArgs = Pick<
  ReconcileArgs<object, CleanerMemo>,
  | 'meta'
  | 'annotations'
  | 'name'
  | 'namespace'
  | 'resource'
  | 'deleting'
  | 'clock'
  | 'client'
  | 'memo'
  | 'logger'
  | 'recorder'
>

export function createCleaner(config: CleanerConfig): Operator<CleanerMemo> {
  const kopf = new Operator<CleanerMemo>({ name: 'ttl-cleaner', memo: () => ({}) })
  const selectors: readonly ResourceLike[] = config.kinds === '*' ? [EVERYTHING] : config.kinds
  for (const selector of selectors) {
    const options = { id: 'expire', when: ({ annotations }: Pick<CleanerArgs, 'annotations'>) => hasTtl(annotations) }
    kopf.reconcile(selector, options, (args) => expire(args, config))
  }
  return kopf
}

/** Called when the object is first seen, when it changes, and when its time is over. Writes nothing to the object. */
async function expire(args: CleanerArgs, config: CleanerConfig): Promise<Reconciled | undefined> {
  const { meta, annotations, deleting, clock } = args
  if (deleting) return undefined
  const expiry = expiryOf(annotations, meta.creationTimestamp)
  if (expiry.type === 'keep') {
    report(args, expiry.reason, expiry.message)
    return undefined
  }
  const obstacle = obstacleOf(args, config)
  if (obstacle !== undefined) {
    report(args, 'NotDeleted', obstacle)
    return undefined
  }
  const remainingMs = expiry.timeMs - clock.now()
  if (remainingMs > 0) return { requeueAfter: remainingMs / 1000 }
  return deleteExpired(args, config)
}

/** The reason why an object stays although it has a time to live. */
function obstacleOf({ meta, name, namespace, resource }: CleanerArgs, config: CleanerConfig): string | undefined {
  // One deleted CRD, node or namespace takes many other objects with it.
  if (config.kinds === '*' && namespace === undefined)
    return 'An object without a namespace is deleted only if TTL_KINDS lists its resource'
  const place = resource.plural === 'namespaces' && resource.group === '' ? name : namespace
  if (place !== undefined && config.protectedNamespaces.includes(place)) return `The namespace "${place}" is protected`
  // Controllers copy annotations to their objects (a Deployment to its ReplicaSets), and create deleted objects again.
  const controller = meta.ownerReferences?.find((owner) => owner.controller === true)
  if (controller !== undefined)
    return `${controller.kind} "${controller.name}" controls the object: annotate that instead`
  return undefined
}

/**
 * The preconditions protect an object that was changed or created again since the operator last saw it: the API server answers with a conflict,
 * and the operator looks at the new state. A dry run sends the same request: the API server checks it and does not store the result.
 */
async function deleteExpired(args: CleanerArgs, { isDryRun }: CleanerConfig): Promise<Reconciled | undefined> {
  const { client, meta, name, resource, logger } = args
  const { uid, resourceVersion } = meta
  const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  try {
    await client.delete(resource, name, { preconditions, propagationPolicy: 'Background', dryRun: isDryRun })
  } catch (error) {
    if (isNotFound(error)) return undefined
    if (!isConflict(error)) throw error
    logger.info('The object has changed in the meantime: it is checked again')
    return { requeueAfter: '5s' }
  }
  if (isDryRun) report(args, 'WouldDelete', 'The time to live is over. The object stays: this is a dry run')
  else report(args, 'Deleted', 'The time to live is over')
  return undefined
}

/** Logs a message and posts it as an Event, once. A mistake of the author of the object is a warning. */
function report({ memo, logger, recorder }: CleanerArgs, reason: string, message: string): void {
  if (memo.reported === message) return
  memo.reported = message
  const isWarning = reason === 'InvalidTTL' || reason === 'NotDeleted'
  logger[isWarning ? 'warn' : 'info'](message)
  recorder[isWarning ? 'warn' : 'info'](reason, message)
}
