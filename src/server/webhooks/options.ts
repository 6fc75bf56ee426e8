/** The options of a request as webhooks get them. Pure. */
import type { JsonObject } from '../../kube/objects.ts'
import type { DeleteRequestOptions } from '../options.ts'

export function toWriteOptions(kind: 'CreateOptions' | 'UpdateOptions', query: URLSearchParams): JsonObject {
  const [fieldManager, fieldValidation] = [query.get('fieldManager'), query.get('fieldValidation')]
  return {
    kind,
    apiVersion: 'meta.k8s.io/v1',
    ...(query.has('dryRun') ? { dryRun: query.getAll('dryRun') } : {}),
    ...(fieldManager ? { fieldManager } : {}),
    ...(fieldValidation ? { fieldValidation } : {}),
  }
}

export function toDeleteOptions(options: DeleteRequestOptions): JsonObject {
  const { gracePeriodSeconds, uid, resourceVersion, orphanDependents, propagationPolicy, dryRun } = options
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  }
  return {
    kind: 'DeleteOptions',
    apiVersion: 'meta.k8s.io/v1',
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(dryRun ? { dryRun: ['All'] } : {}),
  }
}
