/**
 * Where the service of a webhook is reached, as the real server finds it: by its cluster IP, or by the name that it stands
 * for. Nothing routes cluster IPs of the embedded server: a webhook that it shall reach has a URL, or a service of the type
 * ExternalName.
 */
import type { ServiceSpec } from '../builtins/kinds/services.ts'
import { quote } from '../field-errors.ts'
import type { Store } from '../storage/store.ts'
import { keyOf, parseStored } from '../storage/stored.ts'
import type { ResolveService } from './call.ts'
import type { Place } from './go-errors.ts'

export function createServiceResolver(store: Store): ResolveService {
  return ({ namespace, name, port }) => {
    const stored = store.collection('services').get(keyOf(namespace, name))
    if (stored === undefined) throw new Error(`service ${quote(name)} not found`)
    return placeOf(name, parseStored(stored)['spec'] as Partial<ServiceSpec>, port)
  }
}

function placeOf(name: string, spec: Partial<ServiceSpec>, port: number): Place {
  if (spec.type === 'ExternalName') return { host: spec.externalName ?? '', port }
  if (spec.clusterIP === 'None') throw new Error('cannot route to service with ClusterIP "None"')
  const isOffered = (spec.ports ?? []).some((one) => one.port === port)
  if (!isOffered) throw new Error(`no service port ${port} found for service ${quote(name)}`)
  return { host: spec.clusterIP ?? '', port }
}
