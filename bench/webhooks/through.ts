/** Measures writes through a real API server that calls webhooks for each of them, and without webhooks. */
import { type ApiTarget, callApi } from '../../tools/envtest/api.ts'
import { Connection, type Request } from '../lib/connection.ts'
import { mergePatch } from '../lib/gadgets.ts'
import { check, cpuMs, quantile } from '../lib/measure.ts'
import { openConnections, sendAll } from '../lib/requests.ts'
import { group, pathOf, plural } from '../lib/schemaless-gadgets.ts'
import type { Contender } from './contenders.ts'
import { gadgetOf } from './reviews.ts'

export interface ThroughLoad {
  readonly bytes: number
  /** The number of concurrent writes. */
  readonly inFlight: number
  readonly count: number
}

export interface WriteRate {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU of the webhook server for the two reviews of each write. */
  readonly cpuMsPerWrite: number
}

export interface ThroughResult {
  readonly creates: WriteRate
  /** Undefined if the review is too large for the webhook server. */
  readonly updates: WriteRate | undefined
}

type Kind = 'validating' | 'mutating'

const pathOfKind = (kind: Kind): string => `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`
const configurations: ReadonlyArray<readonly [Kind, string]> = [
  ['mutating', 'mutate'],
  ['validating', 'validate'],
]

/** Installs the webhook configurations for creations and updates; deletions are only used to clean up. */
export async function install(admin: ApiTarget, { access }: Contender): Promise<void> {
  for (const [kind, id] of configurations) {
    const webhook = {
      name: `${id}.bench.example.com`,
      sideEffects: 'None',
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      rules: [
        { apiGroups: [group], apiVersions: ['v1'], resources: [plural], operations: ['CREATE', 'UPDATE'], scope: '*' },
      ],
      clientConfig: { url: `${access.url}/${id}`, caBundle: Buffer.from(access.caPem).toString('base64') },
      timeoutSeconds: 30,
      admissionReviewVersions: ['v1', 'v1beta1'],
    }
    const body = { metadata: { name: 'bench.example.com' }, webhooks: [webhook] }
    const { status, text } = await callApi(admin, { method: 'POST', path: pathOfKind(kind), body })
    check(status === 201, `no webhook configuration: ${status} ${text}`)
  }
  await untilInEffect(admin, true)
}

export async function uninstall(admin: ApiTarget): Promise<void> {
  for (const [kind] of configurations) {
    await callApi(admin, { method: 'DELETE', path: `${pathOfKind(kind)}/bench.example.com` })
  }
  await untilInEffect(admin, false)
}

/** API servers apply webhook configurations after a delay. */
async function untilInEffect(admin: ApiTarget, isInstalled: boolean): Promise<void> {
  const body = JSON.parse(gadgetOf('probe', 1, 0)) as unknown
  for (;;) {
    const { status, text } = await callApi(admin, { method: 'POST', path: `${pathOf('default')}?dryRun=All`, body })
    if (status === 201 && text.includes('"checked":1') === isInstalled) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

export async function measureThrough(
  admin: ApiTarget,
  load: ThroughLoad,
  contender: Contender | undefined,
): Promise<ThroughResult> {
  const connections = await openConnections(admin, load.inFlight)
  try {
    await sendAll(connections, Array(load.inFlight).fill({ path: '/readyz' }), 200)
    const names = Array.from({ length: load.count }, (_, index) => `gadget-${index}`)
    const path = pathOf('default')
    const creates = names.map((name) => ({ method: 'POST', path, body: gadgetOf(name, 1, load.bytes) }))
    const updates = names.map((name) => toUpdate(`${path}/${name}`))
    const created = await measure(connections, creates, { status: 201, contender })
    const isRefused = await isTooLarge(connections[0]!, updates[0]!)
    return {
      creates: created,
      updates: isRefused ? undefined : await measure(connections, updates, { status: 200, contender }),
    }
  } finally {
    await clear(admin)
    for (const connection of connections) connection.close()
  }
}

function toUpdate(path: string): Request {
  return { method: 'PATCH', path, body: '{"spec":{"size":2}}', contentType: mergePatch }
}

/** Sends a dry run, which changes nothing. */
async function isTooLarge(connection: Connection, { path, ...request }: Request): Promise<boolean> {
  const { body } = await connection.send({ ...request, path: `${path}?dryRun=All` })
  return body.includes('status code 413')
}

interface Expected {
  readonly status: number
  readonly contender: Contender | undefined
}

async function measure(
  connections: readonly Connection[],
  requests: readonly Request[],
  { status, contender }: Expected,
): Promise<WriteRate> {
  const pids = contender === undefined ? [] : [contender.process.pid]
  const [began, cpuBefore] = [performance.now(), cpuMs(pids)]
  const latencies = await sendAll(connections, requests, status)
  const [tookMs, cpu] = [performance.now() - began, cpuMs(pids) - cpuBefore]
  return {
    perSecond: requests.length / (tookMs / 1000),
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    cpuMsPerWrite: cpu / requests.length,
  }
}

async function clear(admin: ApiTarget): Promise<void> {
  const connection = await Connection.open(admin)
  const { status, body } = await connection.send({ method: 'DELETE', path: pathOf('default') })
  check(status === 200, `the objects were not deleted: ${status} ${body}`)
  connection.close()
}
