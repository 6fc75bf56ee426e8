/** The node on which pods are, where nothing runs, registered at the start; and nodes of others, free for pods when they are ready. */
import type { Parts } from '../../call.ts'
import { serviceAccount } from '../call-as.ts'
import { kubelet, nodeName, nodeStatus, toNode } from './node.ts'
import { find, findByKey, follow } from './reading.ts'
import type { Node } from './scheduling.ts'
import { WorkQueue } from './work-queue.ts'
import { Writer } from './writing.ts'

/** Put on every new node by the server. */
const notReady = 'node.kubernetes.io/not-ready'

export class NodeController {
  readonly #parts: Parts
  readonly #version: string
  readonly #kubelet: Writer
  readonly #writer: Writer

  constructor(parts: Parts, version: string) {
    this.#parts = parts
    this.#version = version
    this.#kubelet = new Writer(parts, kubelet)
    this.#writer = new Writer(parts, serviceAccount('node-controller'))
    const queue = new WorkQueue(parts, (name) => (name === nodeName ? this.#register() : this.#welcome(name)), 'nodes')
    queue.add(nodeName)
    follow(parts, 'nodes', ({ type, current }) => type !== 'DELETED' && queue.add(current.name))
  }

  async #register(): Promise<void> {
    const node = find<Node>(this.#parts, 'nodes', '', nodeName) ?? (await this.#kubelet.create<Node>(toNode()))
    if (!node.status?.conditions?.length) {
      await this.#kubelet.updateStatus(node, nodeStatus(this.#parts.clock.now(), this.#version))
    }
    await this.#welcome(nodeName)
  }

  async #welcome(name: string): Promise<void> {
    const node = findByKey<Node>(this.#parts, 'nodes', name)
    const taints = node?.spec.taints?.filter(({ key }) => key !== notReady)
    if (taints === undefined || taints.length === node!.spec.taints!.length || !isReadyNode(node!)) return
    await this.#writer.update({ ...node!, spec: { ...node!.spec, taints } })
  }
}

function isReadyNode({ status }: Node): boolean {
  return status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false
}
