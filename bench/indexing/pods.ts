/** Many pods, and a transport that serves them from prepared list pages, so that the server costs nearly nothing. */
import { ApiServer } from 'kopf/server'
import type { Transport, TransportResponse } from '../../src/util/transport.ts'

/** About 1.4 KB of JSON, like a small pod of a real cluster. */
export function podOf(index: number): Record<string, unknown> {
  const app = `app-${index % 500}`
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `pod-${index}`,
      namespace: `namespace-${index % 50}`,
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      resourceVersion: String(1000 + index),
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app, tier: 'backend', 'pod-template-hash': '5d4f8c7b9' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: app, uid: app, controller: true }],
    },
    spec: {
      nodeName: `node-${index % 100}`,
      serviceAccountName: 'default',
      containers: ['main', 'sidecar'].map(containerOf),
      volumes: [{ name: 'token', projected: { defaultMode: 420, sources: [] } }],
    },
    status: {
      phase: 'Running',
      podIP: '10.0.0.1',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({ type, status: 'True' })),
    },
  }
}

function containerOf(name: string) {
  return {
    name,
    image: `registry.example.com/team/${name}:1.2.3`,
    env: Object.entries({ A: '1', B: '2' }).map(([variable, value]) => ({ name: variable, value })),
    resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } },
    volumeMounts: [{ name: 'token', mountPath: '/var/run/secrets/token', readOnly: true }],
  }
}

const pageSize = 500

/** Lists pods in pages; their watch is silent. All other requests go to an embedded server. */
export function servePods(count: number): Transport {
  const api = new ApiServer()
  const pages = Array.from({ length: Math.ceil(count / pageSize) }, (_, page) => toPage(page, count))
  return {
    async send(request, signal) {
      const [path, query] = request.path.split('?')
      if (path !== '/api/v1/pods') return api.send(request, signal)
      const parameters = new URLSearchParams(query)
      if (parameters.get('watch') === 'true') return answer(untilAborted(signal))
      return answer(once(pages[Number(parameters.get('continue') ?? 0)]!))
    },
  }
}

function toPage(page: number, count: number): Buffer {
  const first = page * pageSize
  const length = Math.min(pageSize, count - first)
  const metadata = { resourceVersion: '999999', ...(first + length < count && { continue: String(page + 1) }) }
  const items = Array.from({ length }, (_, index) => podOf(first + index))
  return Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'PodList', metadata, items }))
}

function answer(body: AsyncIterable<Uint8Array>): TransportResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}

async function* once(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** A watch without events. */
async function* untilAborted(signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }))
}
