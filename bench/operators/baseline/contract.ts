/**
 * The minimal implementation of the contract on Node: one streaming watch, sixteen requests at a time, no cache, no framework.
 * Run by contenders.ts as a process, which is configured by environment variables.
 */
import { Agent, request } from 'node:https'

interface Gadget {
  metadata: {
    name: string
    resourceVersion: string
    labels?: Record<string, string>
    finalizers?: string[]
    deletionTimestamp?: string
  }
  spec: { size: number }
  status?: Record<string, unknown>
}

interface Call {
  readonly method: string
  readonly path: string
  readonly body?: string
}

const env = (name: string): string => process.env[name] ?? ''
const url = new URL(env('BENCH_URL'))
const path = `/apis/${env('BENCH_GROUP')}/v1/namespaces/${env('BENCH_NAMESPACE')}/${env('BENCH_PLURAL')}`
const picked = env('BENCH_PICKED')
const prints = env('BENCH_PRINT') !== ''
const isReadOnly = env('BENCH_READ_ONLY') !== ''
const finalizer = 'baseline.example.com/finalizer'
const limit = 16
const agent = new Agent({ keepAlive: true, maxSockets: limit, ca: env('BENCH_CA') })
const watchAgent = new Agent({ ca: env('BENCH_CA') })

/** The newest state of each object that still has to be processed. */
const waiting = new Map<string, Gadget>()
const busy = new Set<string>()

/** The version of each object after our last write; events with an older or equal version are stale. */
const written = new Map<string, number>()

function send(through: Agent, { method, path, body }: Call, onText: (text: string) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${env('BENCH_TOKEN')}`, 'user-agent': 'baseline' }
    const sized = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const typed = body === undefined ? {} : { 'content-type': 'application/merge-patch+json' }
    const options = { agent: through, host: url.hostname, port: url.port, method, path }
    const outgoing = request({ ...options, headers: { ...headers, ...sized, ...typed } }, (incoming) => {
      incoming.setEncoding('utf8').on('data', onText).on('error', reject)
      incoming.on('end', () => resolve(incoming.statusCode ?? 0))
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Returns the patched object; undefined if it is gone or was changed meanwhile. */
async function patch(name: string, subresource: string, body: object): Promise<Gadget | undefined> {
  let text = ''
  const call = { method: 'PATCH', path: `${path}/${name}${subresource}`, body: JSON.stringify(body) }
  const status = await send(agent, call, (piece) => {
    text += piece
  })
  // 404: the object is gone. 409: another client changed it, and the watch delivers that change.
  if (status === 404 || status === 409) return undefined
  if (status !== 200) throw new Error(`${status}: ${text}`)
  const gadget = JSON.parse(text) as Gadget
  written.set(name, Number(gadget.metadata.resourceVersion))
  return gadget
}

/** Sends the next write that the object needs; undefined if it needs none. */
function step({ metadata, spec, status }: Gadget): Promise<Gadget | undefined> | undefined {
  const { name, resourceVersion, finalizers = [], labels = {} } = metadata
  const others = finalizers.filter((each) => each !== finalizer)
  const isHeld = others.length < finalizers.length
  if (metadata.deletionTimestamp !== undefined) {
    return isHeld ? patch(name, '', { metadata: { resourceVersion, finalizers: others } }) : undefined
  }
  if (!isHeld && labels['finalizer'] !== 'no') {
    return patch(name, '', { metadata: { resourceVersion, finalizers: [...finalizers, finalizer] } })
  }
  // scenarios/requests.ts checks the field of the first handler.
  const field = labels['handlers'] === undefined ? 'observed' : 'observed0'
  if (status?.[field] === spec.size) return undefined
  if (prints) console.log(`run change ${name}`)
  return patch(name, '/status', { status: { [field]: spec.size } })
}

async function work(name: string): Promise<void> {
  busy.add(name)
  for (let gadget = take(name); gadget !== undefined; gadget = take(name)) {
    let current: Gadget | undefined = gadget
    while (current !== undefined) current = await step(current)
  }
  busy.delete(name)
  startWorkers()
}

function take(name: string): Gadget | undefined {
  const gadget = waiting.get(name)
  waiting.delete(name)
  return gadget === undefined || isStale(gadget) ? undefined : gadget
}

function isStale({ metadata }: Gadget): boolean {
  return Number(metadata.resourceVersion) <= (written.get(metadata.name) ?? 0)
}

function startWorkers(): void {
  if (busy.size >= limit) return
  for (const name of waiting.keys()) {
    if (busy.has(name)) continue
    void work(name)
    if (busy.size >= limit) return
  }
}

function receive({ type, object }: { type: string; object: Gadget }): void {
  if (type === 'DELETED') written.delete(object.metadata.name)
  if ((type !== 'ADDED' && type !== 'MODIFIED') || isReadOnly || isStale(object)) return
  // Most events are echoes of our own writes and need no work.
  if (!busy.has(object.metadata.name) && isRight(object)) return
  waiting.set(object.metadata.name, object)
  startWorkers()
}

function isRight({ metadata, spec, status }: Gadget): boolean {
  const isHeld = metadata.finalizers?.includes(finalizer) ?? false
  if (metadata.deletionTimestamp !== undefined) return !isHeld
  return isHeld && status?.['observed'] === spec.size
}

async function watch(): Promise<void> {
  let rest = ''
  const query = new URLSearchParams({ watch: 'true', sendInitialEvents: 'true', allowWatchBookmarks: 'true' })
  query.set('resourceVersionMatch', 'NotOlderThan')
  if (picked !== '') query.set('labelSelector', `picked=${picked}`)
  await send(watchAgent, { method: 'GET', path: `${path}?${query}` }, (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) receive(JSON.parse(line))
  })
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0))
for (;;) await watch()
