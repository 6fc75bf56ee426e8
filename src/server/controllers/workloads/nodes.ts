/** Registers the simulated node at the start, and removes the not-ready taint from any node that becomes ready. */
import type { ServerContext } from '../../call.ts'
import { serviceAccount } from '../call-as.ts'
import { kubelet, nodeName, nodeStatus, toNode } from './node.ts'
import { ObjectWriter } from './object-writer.ts'
import { find, findByKey, follow } from './reading.ts'
import type { Node } from './scheduling.ts'
import { WorkQueue } from './work-queue.ts'

/** The taint that the server puts on every new node. */
const notReady = 'node.kubernetes.io/not-ready'

export class NodeController {
  readonly #parts: ServerContext
  readonly #version: string
  readonly #kubelet: ObjectWriter
  readonly #writer: ObjectWriter

  constructor(parts: ServerContext, version: string) {
    this.#parts = parts
    this.#version = version
    this.#kubelet = new ObjectWriter(parts, kubelet)
    this.#writer = new ObjectWriter(parts, serviceAccount('node-controller'))
    const queue = new WorkQueue(
      parts,
      (name) => (name === nodeName ? this.#register() : this.#removeNotReadyTaint(name)),
      'nodes',
    )
    queue.add(nodeName)
    follow(parts, 'nodes', ({ type, current }) => type !== 'DELETED' && queue.add(current.name))
  }

  async #register(): Promise<void> {
    const node = find<Node>(this.#parts, 'nodes', '', nodeName) ?? (await this.#kubelet.create<Node>(toNode()))
    if (!node.status?.conditions?.length) {
      await this.#kubelet.updateStatus(node, nodeStatus(this.#parts.clock.now(), this.#version))
    }
    await this.#removeNotReadyTaint(nodeName)
  }

  async #removeNotReadyTaint(name: string): Promise<void> {
    const node = findByKey<Node>(this.#parts, 'nodes', name)
    const taints = node?.spec.taints?.filter(({ key }) => key !== notReady)
    if (taints === undefined || taints.length === node!.spec.taints!.length || !isReadyNode(node!)) return
    await this.#writer.update({ ...node!, spec: { ...node!.spec, taints } })
  }
}

function isReadyNode({ status }: Node): boolean {
  return status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false
}
