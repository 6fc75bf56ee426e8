/**
 * The least that fulfils the contract on Node: one streaming watch, sixteen requests at a time, no cache, no framework.
 * Run by contenders.ts as a process of its own; what it needs to know is in its environment.
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
const reads = env('BENCH_READ_ONLY') !== ''
const finalizer = 'floor.example.com/finalizer'
const limit = 16
const agent = new Agent({ keepAlive: true, maxSockets: limit, ca: env('BENCH_CA') })
const watchAgent = new Agent({ ca: env('BENCH_CA') })

/** The newest state of each object that waits or is worked on; an object that is neither is not here. */
const waiting = new Map<string, Gadget>()
const busy = new Set<string>()

/** The version of each object after our last write, until the watch has caught up with it: events before are stale. */
const written = new Map<string, number>()

function send(through: Agent, { method, path, body }: Call, onText: (text: string) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${env('BENCH_TOKEN')}`, 'user-agent': 'floor' }
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

/** The object as the server has it afterwards; undefined when it is gone. */
async function patch(name: string, subresource: string, body: object): Promise<Gadget | undefined> {
  let text = ''
  const call = { method: 'PATCH', path: `${path}/${name}${subresource}`, body: JSON.stringify(body) }
  const status = await send(agent, call, (piece) => {
    text += piece
  })
  // Gone, or changed by somebody, whose event is on its way.
  if (status === 404 || status === 409) return undefined
  if (status !== 200) throw new Error(`${status}: ${text}`)
  const gadget = JSON.parse(text) as Gadget
  written.set(name, Number(gadget.metadata.resourceVersion))
  return gadget
}

/** One write towards what the object has to be; undefined when there is none to make. */
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
  // The field that the checker looks at in scenarios/requests.ts is the one of the first handler.
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
  hire()
}

function take(name: string): Gadget | undefined {
  const gadget = waiting.get(name)
  waiting.delete(name)
  return gadget === undefined || isStale(gadget) ? undefined : gadget
}

function isStale({ metadata }: Gadget): boolean {
  return Number(metadata.resourceVersion) <= (written.get(metadata.name) ?? 0)
}

function hire(): void {
  if (busy.size >= limit) return
  for (const name of waiting.keys()) {
    if (busy.has(name)) continue
    void work(name)
    if (busy.size >= limit) return
  }
}

function hear({ type, object }: { type: string; object: Gadget }): void {
  if (type === 'DELETED') written.delete(object.metadata.name)
  if ((type !== 'ADDED' && type !== 'MODIFIED') || reads || isStale(object)) return
  // Most events are echoes of our own writes: nothing is to be done for them.
  if (!busy.has(object.metadata.name) && isRight(object)) return
  waiting.set(object.metadata.name, object)
  hire()
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
    for (const line of lines) hear(JSON.parse(line))
  })
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0))
for (;;) await watch()
