/**
 * Objects as large and deep as the API server accepts, by an author with write permission for one kind in one namespace. The operator
 * runs as a process with 200 MiB of heap: it must survive, and objects in other namespaces must be handled.
 */
import { afterEach, beforeAll, expect, test } from 'vitest'
import type { Body } from '../support/answers.ts'
import { useCluster } from '../support/cluster.ts'
import { anything } from '../support/crds.ts'
import { eventually, expectStatus } from '../support/expectations.ts'
import { OperatorProcess } from './hostile/operator-process.ts'

const cluster = useCluster()
/** Starting a program takes long on a busy machine. */
const patienceMs = 60_000
let tenant: string

/** An atomic map: otherwise the real API server needs a minute to compute the managed fields of so many fields. */
const atomic = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-map-type': 'atomic' }

beforeAll(async () => {
  const schema = { ...anything, properties: { spec: atomic } }
  await cluster.install({ kind: 'Widget', schema, subresources: { status: {} } })
  tenant = await cluster.createNamespace('tenant')
})

type Shape = (turn: number) => string

/** 9,000 nested objects, each with a field that changes with every turn. The API server accepts 10,000 levels. */
const ladder: Shape = (turn) => `${`{"x":"turn-00${turn}","a":`.repeat(9000)}{}${'}'.repeat(9000)}`

/** 9,000 levels, and below them 12,000 fields that change with every turn. */
const bottomHeavy: Shape = (turn) => {
  const fields = Array.from({ length: 12_000 }, (_, index) => `"k${index}":"${turn}"`).join()
  return `{"x":"turn-00${turn}","a":{"a":{"a":{"x":${turn},"a":${'{"a":'.repeat(9000)}{${fields}}${'}'.repeat(9000)}}}}}`
}

const shapes: Readonly<Record<string, Shape>> = { ladder, bottom: bottomHeavy }

const textOf = (name: string, spec: string) =>
  `{"apiVersion":"${cluster.group}/v1","kind":"Widget","metadata":{"name":"${name}"},"spec":${spec}}`

const path = (name: string) => `/apis/${cluster.group}/v1/namespaces/${cluster.namespace}/widgets/${name}`
const canaryPath = (name = '') => `/apis/${cluster.group}/v1/namespaces/${tenant}/widgets/${name}`

let operator: OperatorProcess | undefined

afterEach(() => operator?.stop())

async function startOperator(): Promise<void> {
  const program = new URL('hostile/operator.mjs', import.meta.url)
  const namespaces = [cluster.namespace, tenant]
  operator = new OperatorProcess(cluster, { program, namespaces, heap: '--max-old-space-size=200' })
  await operator.ready()
}

/** Waits for the status of an object; fails at once if the operator has died. */
async function untilStatus(at: string, expected: object): Promise<void> {
  await eventually(async () => {
    expect(operator?.isAlive, operator?.output).toBe(true)
    const { body } = await cluster.api.get(at)
    expect((body as Body & { status?: object }).status).toMatchObject(expected)
  }, patienceMs)
}

/** Edits by a JSON patch, since the real API server needs half a minute to merge documents of thousands of levels. */
async function edit(name: string, spec: string): Promise<void> {
  expectStatus(await cluster.api.jsonPatch(path(name), `[{"op":"replace","path":"/spec","value":${spec}}]`), 200)
}

async function expectCanaryHandled(name: string): Promise<void> {
  const canary = { apiVersion: `${cluster.group}/v1`, kind: 'Widget', metadata: { name }, spec: { x: 'canary' } }
  expectStatus(await cluster.api.post(canaryPath(), canary), 201)
  await untilStatus(canaryPath(name), { created: { seen: true } })
}

test('deep objects with thousands of differences are handled, and so are the objects of other namespaces', {
  timeout: 180_000,
}, async () => {
  await startOperator()
  for (const [name, shape] of Object.entries(shapes)) {
    expectStatus(await cluster.api.post(cluster.custom('widgets'), textOf(name, shape(1))), 201)
    await expectCanaryHandled(`${name}-created`)
    await untilStatus(path(name), { created: { seen: true } })
    await edit(name, shape(2))
    await expectCanaryHandled(`${name}-edited`)
    await untilStatus(path(name), { updated: { turn: 'turn-002' }, 'field/spec.a.a.a.x': { items: 1 } })
  }
})

test('a new operator process starts with deep objects that have changed in thousands of places', {
  timeout: 180_000,
}, async () => {
  await startOperator()
  for (const [name, shape] of Object.entries(shapes)) {
    expectStatus(await cluster.api.post(cluster.custom('widgets'), textOf(`${name}-kept`, shape(1))), 201)
    await untilStatus(path(`${name}-kept`), { created: { seen: true } })
  }
  await operator!.stop()
  for (const [name, shape] of Object.entries(shapes)) await edit(`${name}-kept`, shape(5))
  await startOperator()
  for (const name of Object.keys(shapes)) await untilStatus(path(`${name}-kept`), { updated: { turn: 'turn-005' } })
  await expectCanaryHandled('restarted')
})
