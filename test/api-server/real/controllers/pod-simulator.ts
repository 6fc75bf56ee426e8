/**
 * Simulates pods on a control plane without nodes: binds them to a node, and writes their status according to the annotation
 * `kopf.dev/pod`, as the pod controller of the embedded server does.
 */
import { type ApiTarget, callApi } from '../../../../tools/envtest/api.ts'

// biome-ignore lint/suspicious/noExplicitAny: reads fields of any object.
type Loose = Record<string, any>

const nodeName = 'embedded'

export class PodSimulator implements AsyncDisposable {
  readonly #target: ApiTarget
  readonly #stop = new AbortController()
  readonly #playing: Promise<void>
  #addresses = 1

  private constructor(target: ApiTarget) {
    this.#target = target
    this.#playing = this.#play()
  }

  static async start(target: ApiTarget): Promise<PodSimulator> {
    const node = { metadata: { name: nodeName } }
    await callApi(target, { method: 'POST', path: '/api/v1/nodes', body: node })
    const contentType = 'application/merge-patch+json'
    const path = `/api/v1/nodes/${nodeName}`
    const conditions = [{ type: 'Ready', status: 'True' }]
    await callApi(target, { method: 'PATCH', path: `${path}/status`, contentType, body: { status: { conditions } } })
    await callApi(target, { method: 'PATCH', path, contentType, body: { spec: { taints: null } } })
    return new PodSimulator(target)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#playing
  }

  async #play(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const { body } = await callApi(this.#target, { path: '/api/v1/pods' }).catch(() => ({ body: { items: [] } }))
      for (const pod of (body as Loose)['items'] ?? []) await this.#touch(pod).catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  async #touch(pod: Loose): Promise<void> {
    const { name, namespace, annotations, deletionTimestamp, deletionGracePeriodSeconds } = pod['metadata']
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`
    if (deletionTimestamp !== undefined) {
      if (deletionGracePeriodSeconds === 0) return
      await callApi(this.#target, { method: 'DELETE', path: `${path}?gracePeriodSeconds=0` })
      return
    }
    if (!pod['spec'].nodeName) {
      const target = { apiVersion: 'v1', kind: 'Node', name: nodeName }
      await callApi(this.#target, { method: 'POST', path: `${path}/binding`, body: { metadata: { name }, target } })
    }
    const next = this.#nextStatus(annotations?.['kopf.dev/pod'] ?? '', pod)
    if (next === undefined) return
    const contentType = 'application/merge-patch+json'
    await callApi(this.#target, { method: 'PATCH', path: `${path}/status`, contentType, body: { status: next } })
  }

  /** The next status, or undefined if the pod already has it. */
  #nextStatus(behaviour: string, { spec, status }: Loose): object | undefined {
    const isReady = status.conditions?.some(({ type, status }: Loose) => type === 'Ready' && status === 'True')
    if (status.phase === 'Succeeded' || status.phase === 'Failed') return undefined
    const mayEnd = spec.restartPolicy !== 'Always' && behaviour !== 'run'
    const ends = mayEnd && status.phase === 'Running'
    const phase = ends ? (behaviour === 'fail' ? 'Failed' : 'Succeeded') : 'Running'
    if (!ends && (isReady || (behaviour === 'never ready' && status.phase === 'Running'))) return undefined
    const ready = phase === 'Running' && behaviour !== 'never ready' ? 'True' : 'False'
    const lastTransitionTime = `${new Date().toISOString().slice(0, 19)}Z`
    this.#addresses += 1
    const podIP = status.podIP ?? `10.9.0.${this.#addresses}`
    return { phase, podIP, podIPs: [{ ip: podIP }], conditions: [{ type: 'Ready', status: ready, lastTransitionTime }] }
  }
}
