/** An object at hand, and what handlers are told about it whatever has happened. Made once per state of the object. */
import type { Client } from '../../client/client.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { deepFreeze } from '../../util/frozen.ts'
import type { Logger } from '../../util/log.ts'
import type { Recorder } from './args.ts'

export interface Subject {
  readonly resource: Resource
  readonly body: KubeObject
  readonly logger: Logger
  readonly memo: object
  readonly client: Client
  readonly recorder: Recorder
}

/** Stanzas that are missing are empty, so that a handler can look into them at once. */
const nothing: object = Object.freeze({})

/** What every handler on an object gets. The body is frozen: what should be different belongs into the patch. */
export function objectArgs({ body, resource, logger, memo, client, recorder }: Subject): object {
  deepFreeze(body)
  const { metadata } = body
  return {
    logger,
    memo,
    client,
    resource,
    body,
    spec: body['spec'] ?? nothing,
    status: body['status'] ?? nothing,
    meta: metadata,
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    labels: metadata.labels ?? nothing,
    annotations: metadata.annotations ?? nothing,
    recorder,
  }
}
