/**
 * Measures the embedded server without a socket in a new process: time to the first response, write rates, heap per object.
 * Run by main.ts with the number of writes and of objects as arguments; sends one message with the results.
 */
import { ApiServer, startServer } from 'kopf/server'
import { Connection } from '../lib/connection.ts'
import { crdsPath, gadgetBody, gadgetCrd, gadgetsPath, mergePatch, smallBody, statusPatch } from '../lib/gadgets.ts'
import { check } from '../lib/measure.ts'

export interface InProcess {
  readonly firstAnswerMs: number
  readonly httpsMs: number
  readonly createsPerSecond: number
  readonly patchesPerSecond: number
  readonly heapPerSmallObject: number
  readonly heapPerObject: number
}

const [writes, objects] = process.argv.slice(2).map(Number) as [number, number]

async function send(api: ApiServer, method: string, path: string, body?: string, type?: string): Promise<number> {
  const headers = { 'content-type': type ?? 'application/json' }
  const answer = await api.send({ method, path, headers, ...(body === undefined ? {} : { body }) })
  // Reads the body to the end, like a client.
  for await (const _ of answer.body);
  return answer.status
}

async function measureFirstAnswer(): Promise<number> {
  const began = performance.now()
  const status = await send(new ApiServer(), 'GET', '/api/v1/namespaces')
  const tookMs = performance.now() - began
  check(status === 200, `the first response has the status ${status}`)
  return tookMs
}

async function measureHttps(): Promise<number> {
  const began = performance.now()
  await using server = await startServer()
  const connection = await Connection.open({ url: server.url, caPem: server.ca! })
  const { status } = await connection.send({ path: '/readyz' })
  const tookMs = performance.now() - began
  check(status === 200, 'the server is not ready')
  connection.close()
  return tookMs
}

async function withGadgets(): Promise<ApiServer> {
  const api = new ApiServer()
  check((await send(api, 'POST', crdsPath, JSON.stringify(gadgetCrd))) === 201, 'the CRD was not created')
  return api
}

async function measureRates(): Promise<{ createsPerSecond: number; patchesPerSecond: number }> {
  const api = await withGadgets()
  const began = performance.now()
  for (let index = 0; index < writes; index += 1) {
    check((await send(api, 'POST', gadgetsPath, gadgetBody(`g-${index}`, index))) === 201, 'an object was not created')
  }
  const created = performance.now()
  for (let index = 0; index < writes; index += 1) {
    const path = `${gadgetsPath}/g-${index}/status`
    check((await send(api, 'PATCH', path, statusPatch(index + 1), mergePatch)) === 200, 'an object was not patched')
  }
  const patched = performance.now()
  check(Number(api.version) >= 2 * writes, 'writes are missing')
  return { createsPerSecond: perSecond(created - began), patchesPerSecond: perSecond(patched - created) }
}

function perSecond(tookMs: number): number {
  return (writes / tookMs) * 1000
}

async function measureHeap(body: (name: string, size: number) => string): Promise<number> {
  const api = await withGadgets()
  const before = heap()
  for (let index = 0; index < objects; index += 1) await send(api, 'POST', gadgetsPath, body(`g-${index}`, index))
  const after = heap()
  check(Number(api.version) > objects, 'objects are missing')
  return (after - before) / objects
}

function heap(): number {
  global.gc!()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const firstAnswerMs = await measureFirstAnswer()
const httpsMs = await measureHttps()
const rates = await measureRates()
const heapPerSmallObject = await measureHeap(smallBody)
const heapPerObject = await measureHeap(gadgetBody)
process.send!({ firstAnswerMs, httpsMs, ...rates, heapPerSmallObject, heapPerObject } satisfies InProcess)
process.disconnect()
