/** Writes through a real API server that asks webhooks about each: what a user waits for, with and without them. */
import { type ApiTarget, callApi } from '../../tools/envtest/api.ts'
import { Connection, type Request } from '../connection.ts'
import { openConnections, sendAll } from '../driver.ts'
import { mergePatch } from '../fixtures.ts'
import { check, cpuMs, quantile } from '../measure.ts'
import { group, pathOf, plural } from '../operators/resource.ts'
import type { Contender } from './contenders.ts'
import { gadgetOf } from './reviews.ts'

export interface ThroughLoad {
  readonly bytes: number
  /** So many writes under way at a time. */
  readonly inFlight: number
  readonly count: number
}

export interface WriteRate {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of who answers the two reviews of each write. */
  readonly cpuMsPerWrite: number
}

export interface ThroughResult {
  readonly creates: WriteRate
  /** Undefined where the review is too large for who answers. */
  readonly updates: WriteRate | undefined
}

type Kind = 'validating' | 'mutating'

const pathOfKind = (kind: Kind): string => `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`
const configurations: ReadonlyArray<readonly [Kind, string]> = [
  ['mutating', 'mutate'],
  ['validating', 'validate'],
]

/** The API server asks from now on, but for deletions, which only clear up here. */
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
  await untilAsked(admin, true)
}

export async function uninstall(admin: ApiTarget): Promise<void> {
  for (const [kind] of configurations) {
    await callApi(admin, { method: 'DELETE', path: `${pathOfKind(kind)}/bench.example.com` })
  }
  await untilAsked(admin, false)
}

/** API servers learn of configurations a moment later. */
async function untilAsked(admin: ApiTarget, isAsked: boolean): Promise<void> {
  const body = JSON.parse(gadgetOf('probe', 1, 0)) as unknown
  for (;;) {
    const { status, text } = await callApi(admin, { method: 'POST', path: `${pathOf('default')}?dryRun=All`, body })
    if (status === 201 && text.includes('"checked":1') === isAsked) return
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

/** Nothing is changed by asking. */
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
