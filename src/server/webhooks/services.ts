/**
 * Resolves the service of a webhook like kube-apiserver: to its cluster IP, or to its external name. The embedded server does not
 * route cluster IPs: use a URL, or a service of type ExternalName.
 */
import type { ServiceSpec } from '../builtins/kinds/services.ts'
import { quote } from '../field-errors.ts'
import type { ServerStore } from '../storage/store.ts'
import { keyOf, parseStored } from '../storage/stored.ts'
import type { ResolveService } from './call.ts'
import type { NetworkAddress } from './go-errors.ts'

export function createServiceResolver(store: ServerStore): ResolveService {
  return ({ namespace, name, port }) => {
    const stored = store.collection('services').get(keyOf(namespace, name))
    if (stored === undefined) throw new Error(`service ${quote(name)} not found`)
    return placeOf(name, parseStored(stored)['spec'] as Partial<ServiceSpec>, port)
  }
}

function placeOf(name: string, spec: Partial<ServiceSpec>, port: number): NetworkAddress {
  if (spec.type === 'ExternalName') return { host: spec.externalName ?? '', port }
  if (spec.clusterIP === 'None') throw new Error('cannot route to service with ClusterIP "None"')
  const isOffered = (spec.ports ?? []).some((one) => one.port === port)
  if (!isOffered) throw new Error(`no service port ${port} found for service ${quote(name)}`)
  return { host: spec.clusterIP ?? '', port }
}
