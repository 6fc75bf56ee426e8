/**
 * Objects close to the largest size that etcd accepts, whose parsed JSON takes up to 28 times the memory. The operator is a process
 * with the heap size that `kopf manifests` prints, and stays below the printed memory limit.
 */
import { afterEach, beforeAll, expect, test } from 'vitest'
import type { DeploymentPlan } from '../../src/cli/deployment/plan.ts'
import { writeWorkload } from '../../src/cli/deployment/workload.ts'
import { useCluster } from '../support/cluster.ts'
import { anything } from '../support/crds.ts'
import { eventually, expectStatus } from '../support/expectations.ts'
import { OperatorProcess } from './hostile/operator-process.ts'

const cluster = useCluster()
const patienceMs = 120_000
/** One of each shape on the real server; fewer on the embedded one, which needs a second for each write of such an object. */
const count = Number(process.env['KOPF_TEST_LARGE_OBJECTS'] ?? (process.env['KOPF_TEST_CLUSTER'] === 'real' ? 4 : 3))
const size = 1_300_000
let tenant: string
let operator: OperatorProcess | undefined

/** An atomic map: otherwise the real API server needs a minute to compute the managed fields of so many fields. */
const atomic = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-map-type': 'atomic' }

beforeAll(async () => {
  const schema = { ...anything, properties: { spec: atomic } }
  await cluster.install({ kind: 'Widget', schema, subresources: { status: {} } })
  tenant = await cluster.createNamespace('tenant')
})
afterEach(() => operator?.stop())

const nested = `${'['.repeat(300)}${']'.repeat(300)}`

/** Parsed, they take 28, 21, 13 and 16 times as much memory. */
const shapes = [nested, '{}', '[]', '[1]']

function denseList(index: number): string {
  const item = shapes[index % shapes.length]!
  return `[${Array(Math.floor(size / (item.length + 1)))
    .fill(item)
    .join()}]`
}

const denseName = (index: number) => `dense-${index}`
const denseNames = Array.from({ length: count }, (_, index) => denseName(index))
const densePath = (name: string) => `${cluster.custom('widgets')}/${name}`
const canaryPath = () => `/apis/${cluster.group}/v1/namespaces/${tenant}/widgets`

const textOf = (name: string, list: string) =>
  `{"apiVersion":"${cluster.group}/v1","kind":"Widget","metadata":{"name":"${name}"},"spec":{"x":${list}}}`

/** The heap size and the memory limit that `kopf manifests` prints. */
function printed(): { readonly heap: string; readonly limitMiB: number } {
  const plan: DeploymentPlan = {
    name: 'large',
    namespace: 'default',
    isNamespaceFixed: false,
    image: 'large',
    replicas: 1,
    isElected: false,
    args: [],
    roles: [],
    stepSecret: undefined,
    graceSeconds: 30,
    webhooks: undefined,
    hasWebhooks: false,
    endpoints: [],
    ports: undefined,
  }
  const workload = JSON.stringify(writeWorkload(plan))
  const heap = /--max-old-space-size=\d+/.exec(workload)?.[0] ?? ''
  return { heap, limitMiB: Number(/"limits":\{"memory":"(\d+)Mi"/.exec(workload)?.[1]) }
}

async function startOperator(): Promise<void> {
  const program = new URL('hostile/large-operator.mjs', import.meta.url)
  const namespaces = [cluster.namespace, tenant]
  operator = new OperatorProcess(cluster, { program, namespaces, heap: printed().heap })
  await operator.ready()
}

async function expectCanaryHandled(name: string): Promise<void> {
  expectStatus(await cluster.api.post(canaryPath(), textOf(name, '[]')), 201)
  await operator!.untilHandled(`create ${name} x`)
}

/** Deletes the objects while the operator runs, since their finalizers would keep the CRD. */
async function deleteDense(): Promise<void> {
  for (const name of denseNames) expectStatus(await cluster.api.delete(densePath(name)), 200)
  await eventually(async () => {
    const { body } = await cluster.api.get(cluster.custom('widgets'))
    expect(body).toMatchObject({ items: [] })
  }, patienceMs)
}

test('objects that expand in memory stay below the printed limit, also at the next start', {
  timeout: 600_000,
}, async () => {
  const { limitMiB } = printed()
  await startOperator()
  for (const [index, name] of denseNames.entries()) {
    expectStatus(await cluster.api.post(cluster.custom('widgets'), textOf(name, denseList(index))), 201)
    await expectCanaryHandled(`created-${index}`)
  }
  for (const name of denseNames) await operator!.untilHandled(`create ${name} x`)
  for (const [index, name] of denseNames.entries()) {
    expectStatus(await cluster.api.jsonPatch(densePath(name), '[{"op":"add","path":"/spec/y","value":"edited"}]'), 200)
    await expectCanaryHandled(`edited-${index}`)
  }
  for (const name of denseNames) await operator!.untilHandled(`update true ${name} x,y`)
  expect(operator!.peakMiB).toBeLessThan(limitMiB)
  await operator!.stop()
  await startOperator()
  await expectCanaryHandled('restarted')
  for (const name of denseNames) await operator!.untilHandled(`resume ${name} x,y`)
  await deleteDense()
  expect(operator!.peakMiB).toBeLessThan(limitMiB)
})
