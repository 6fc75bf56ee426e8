/**
 * Subresources that connect to the containers of a pod: log, exec, attach, port-forward. The embedded server runs no containers, so
 * they fail.
 */
import type { ResourceCall } from '../call.ts'
import { presentObject } from '../present.ts'
import { badRequest, notImplemented } from '../status.ts'
import { currentOf } from './write.ts'

interface PodContainers {
  readonly containers?: ReadonlyArray<{ readonly name: string }>
  readonly initContainers?: ReadonlyArray<{ readonly name: string }>
}

/** Subresources that need a kubelet, with the reason for the error message. */
const needsNodes: Readonly<Record<string, string>> = {
  log: 'so they log nothing',
  exec: 'so a command has nowhere to run',
  attach: 'so there is no process to attach to',
  portforward: 'so nobody listens on their ports',
  proxy: 'so nobody listens on their ports',
  ephemeralcontainers: 'so none can be added',
  resize: 'so none can be resized',
}

export const podConnections: ReadonlySet<string> = new Set(Object.keys(needsNodes))

const toContainers: ReadonlySet<string> = new Set(['log', 'exec', 'attach'])

export function connectToPod(call: ResourceCall): never {
  const { path, resource, query } = call
  const { name, subresource } = path
  const spec = (presentObject(resource, currentOf(call, resource, path))['spec'] ?? {}) as PodContainers
  if (toContainers.has(subresource)) checkContainer(name, spec, query.get('container') ?? '')
  const why = `the embedded server keeps pods and runs no containers, ${needsNodes[subresource]}`
  throw notImplemented(`pods/${subresource} is not served: ${why}; use a cluster with nodes for it`)
}

function checkContainer(pod: string, { containers = [], initContainers = [] }: PodContainers, container: string): void {
  const names = (list: ReadonlyArray<{ readonly name: string }>): string => list.map(({ name }) => name).join(' ')
  if (container === '') {
    if (containers.length === 1) return
    const inits = initContainers.length === 0 ? '' : ` or one of the init containers: [${names(initContainers)}]`
    throw badRequest(`a container name must be specified for pod ${pod}, choose one of: [${names(containers)}]${inits}`)
  }
  if (![...containers, ...initContainers].some(({ name }) => name === container)) {
    throw badRequest(`container ${container} is not valid for pod ${pod}`)
  }
}
