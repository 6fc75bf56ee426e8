/** Requests that take as much memory as possible, sent to a process with the heap of a container with 512Mi. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { reviewOf } from './webhook-support.ts'

/** Node limits the heap to half of the memory of the container. */
const heapMiB = 256
const mebibyte = 1024 * 1024

let child: ChildProcess | undefined
afterEach(() => void child?.kill('SIGKILL'))

async function start(): Promise<URL> {
  child = fork(new URL('./small-heap.mjs', import.meta.url), {
    execArgv: ['--import', 'tsx', '--conditions=source', `--max-old-space-size=${heapMiB}`],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [message] = (await once(child, 'message')) as [{ url: string; heapMiB: number }]
  expect(message.heapMiB).toBeLessThan(1.2 * heapMiB)
  return new URL(message.url)
}

function post(url: URL, body: string | Buffer, path = '/fn'): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asking = request({ host: url.hostname, port: url.port, path, method: 'POST', agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode!, text }))
      response.on('error', reject)
    })
    asking.on('error', reject)
    asking.end(body)
  })
}

/** JSON of the given size, made of a pattern. */
function hostile(bytes: number, pattern: (index: number) => string): Buffer {
  const parts: string[] = []
  for (let index = 0, size = 0; size < bytes; index += 1) {
    parts.push(pattern(index))
    size += parts[index]!.length + 1
  }
  return Buffer.from(`[${parts.join(',')}]`.slice(0, Math.max(bytes, 2)).replace(/,[^,]*$/, ']'))
}

const patterns: ReadonlyArray<[string, (index: number) => string]> = [
  ['empty objects', () => '{}'],
  ['nested lists', () => '['.repeat(1000) + ']'.repeat(1000)],
  ['objects with keys of their own', (index) => `{"${index.toString(36)}x":1}`],
]

test('hostile webhook requests of any size do not exhaust the memory, and ordinary ones are answered meanwhile', {
  timeout: 120_000,
}, async () => {
  const url = await start()
  const ordinary = JSON.stringify(reviewOf({ spec: { size: 1 } }))
  const statuses = new Map<number, number>()
  const attack = async ([, pattern]: (typeof patterns)[number], bytes: number) => {
    const body = hostile(bytes, pattern)
    const replies = Array.from({ length: 2 }, () => post(url, body).catch(() => ({ status: 0 })))
    // The ordinary request is sent after the hostile ones, without waiting for their responses.
    expect((await post(url, ordinary)).status).toBe(200)
    for (const { status } of await Promise.all(replies)) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  let isOver = false
  const others = (async () => {
    while (!isOver) expect((await post(url, ordinary)).status).toBe(200)
  })()
  for (const pattern of patterns) {
    // The first size exceeds the budget of one request, the second one just fits.
    for (const bytes of [6 * mebibyte, 1.9 * mebibyte]) await attack(pattern, bytes)
  }
  isOver = true
  await others
  expect(child!.exitCode).toBeNull()
  expect([...statuses.keys()].filter((status) => ![0, 200, 413, 503, 504].includes(status))).toEqual([])
  expect(statuses.get(413)).toBeGreaterThan(0)
  expect(statuses.get(200)).toBeGreaterThan(0)
})

test('the largest webhook requests of API servers for ordinary objects fit into the memory budget', async () => {
  const url = await start()
  const object = { data: { blob: 'x'.repeat(3 * mebibyte) } }
  const entries = Array.from({ length: 27_000 }, (_, n) => ({
    name: `VARIABLE_${n}`,
    value: `the value of number ${n}`,
  }))
  const list = { spec: { entries } }
  expect(JSON.stringify(list).length).toBeGreaterThan(1.5 * mebibyte)
  for (const one of [object, list]) {
    const { status, text } = await post(url, JSON.stringify(reviewOf(one, { oldObject: one })))
    expect({ status, text }).toMatchObject({ status: 200 })
  }
  const conversion = { kind: 'ConversionReview', request: { objects: Array.from({ length: 3 }, () => list) } }
  expect((await post(url, JSON.stringify(conversion), '/convert')).status).toBe(200)
})
