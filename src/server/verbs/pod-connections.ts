/**
 * What leads to a pod's containers: logs, exec, attach, port-forward. There are no nodes, so that nobody is at the other
 * end; pods that wait for a node are answered for as the real server answers for them.
 */
import type { Answer, Call } from '../call.ts'
import { presentObject } from '../present.ts'
import { badRequest, notImplemented } from '../status.ts'
import { currentOf } from './write.ts'

interface PodSpec {
  readonly nodeName?: string
  readonly containers?: ReadonlyArray<{ readonly name: string }>
  readonly initContainers?: ReadonlyArray<{ readonly name: string }>
}

/** All that a node would have to answer. */
export const podConnections: ReadonlySet<string> = new Set([
  'log',
  'exec',
  'attach',
  'portforward',
  'proxy',
  'ephemeralcontainers',
  'resize',
])

const toContainers: ReadonlySet<string> = new Set(['log', 'exec', 'attach'])

export function connectToPod(call: Call): Answer {
  const { path, resource, query } = call
  const { name, subresource } = path
  const spec = (presentObject(resource, currentOf(call, resource, path))['spec'] ?? {}) as PodSpec
  if (toContainers.has(subresource)) checkContainer(name, spec, query.get('container') ?? '')
  const isWaiting = !spec.nodeName
  if (isWaiting && subresource === 'log') return { status: 204, headers: {}, body: '' }
  if (isWaiting && (toContainers.has(subresource) || subresource === 'portforward')) {
    throw badRequest(`pod ${name} does not have a host assigned`)
  }
  throw notImplemented(`pods/${subresource} needs a node that runs the pod: the embedded server has none`)
}

function checkContainer(pod: string, { containers = [], initContainers = [] }: PodSpec, container: string): void {
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
