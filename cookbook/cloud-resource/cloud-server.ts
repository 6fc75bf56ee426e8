/**
 * A small cloud provider for development and tests: buckets in memory, behind an HTTP API with a bearer token, idempotency keys, a rate limit
 * and latency. It fails on demand. Not for production: there, CLOUD_URL is the address of the real API.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'

const settings = { versioning: z.boolean(), quotaGb: z.int().min(1).max(1000, 'must be at most 1000') }
const newBucket = z.strictObject({
  owner: z.string().min(1),
  name: z.string().min(1),
  region: z.enum(['eu-1', 'us-1'], 'must be one of eu-1, us-1'),
  versioning: settings.versioning.default(false),
  quotaGb: settings.quotaGb.default(10),
})
const changes = z.strictObject(settings).partial()
const fault = z.strictObject({
  /** `status` answers with an error. `lost` executes the request and closes the connection. `hang` never answers. */
  type: z.enum(['status', 'lost', 'hang']).default('status'),
  method: z.string().optional(),
  status: z.int().default(503),
  retryAfterSeconds: z.int().optional(),
  times: z.int().min(1).default(1),
})

export type StoredBucket = z.infer<typeof newBucket> & { readonly id: string; readonly url: string }
export type Fault = z.input<typeof fault>
type ActiveFault = z.infer<typeof fault>

interface Answer {
  readonly status: number
  readonly content?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface CloudServerOptions {
  readonly token: string
  /** Any free port by default. */
  readonly port?: number
  readonly latencyMs?: number
  /** The number of requests that are served in each window. */
  readonly rateLimit?: { readonly requests: number; readonly windowSeconds: number }
  /** The clock of the rate limit. */
  readonly now?: () => number
}

export class CloudServer {
  readonly buckets = new Map<string, StoredBucket>()
  /** Method and path of each request that reached the API, such as "POST /v1/buckets 201". */
  readonly requests: string[] = []
  /** New buckets are listed after this time, as by clouds whose lists are eventually consistent. */
  listDelaySeconds = 0
  readonly #options: Required<CloudServerOptions>
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  readonly #answers = new Map<string, { readonly body: string; readonly answer: Answer }>()
  readonly #createdMs = new Map<string, number>()
  #faults: ActiveFault[] = []
  #window = { startMs: 0, requests: 0 }
  #lastNumber = 0

  private constructor(options: CloudServerOptions) {
    const rateLimit = { requests: 100, windowSeconds: 10 }
    this.#options = { port: 0, latencyMs: 0, rateLimit, now: Date.now, ...options }
  }

  static async start(options: CloudServerOptions): Promise<CloudServer> {
    const cloud = new CloudServer(options)
    await new Promise<void>((resolve, reject) => {
      cloud.#server.once('error', reject).listen(cloud.#options.port, '127.0.0.1', resolve)
    })
    return cloud
  }

  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('The server does not listen')
    return `http://127.0.0.1:${address.port}`
  }

  /** The next requests fail in this way. */
  addFault(wanted: Fault): void {
    this.#faults.push(fault.parse(wanted))
  }

  /** How many requests began with this method and path. */
  count(prefix: string): number {
    return this.requests.filter((request) => request.startsWith(prefix)).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = request
    const body = await text(request).catch(() => '')
    await sleep(this.#options.latencyMs)
    const active = url.startsWith('/v1/') ? this.#takeFault(method) : undefined
    if (active?.type === 'hang') return
    const answer = active?.type === 'status' ? failWith(active) : this.#answer(request, body)
    this.requests.push(`${method} ${url} ${answer.status}`)
    if (active?.type === 'lost') return void response.destroy()
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(answer.content === undefined ? undefined : JSON.stringify(answer.content))
  }

  #takeFault(method: string): ActiveFault | undefined {
    const active = this.#faults.find((one) => one.method === undefined || one.method === method)
    if (active !== undefined) active.times -= 1
    this.#faults = this.#faults.filter(({ times }) => times > 0)
    return active
  }

  #answer(request: IncomingMessage, body: string): Answer {
    const { headers, method = 'GET' } = request
    if (headers.authorization !== `Bearer ${this.#options.token}`) return problem(401, 'the token is not valid')
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://cloud')
    const content = parseJson(body)
    if (content === undefined) return problem(400, 'the body is not JSON')
    if (pathname === '/faults' && method === 'POST') return this.#answerFault(content)
    const waitSeconds = this.#secondsOverLimit()
    if (waitSeconds > 0) return failWith({ status: 429, retryAfterSeconds: waitSeconds })
    if (pathname === '/v1/buckets' && method === 'GET') return this.#list(searchParams.get('owner'))
    if (pathname === '/v1/buckets' && method === 'POST') {
      return this.#once(headers['idempotency-key'], body, () => this.#create(content))
    }
    const bucket = this.buckets.get(/^\/v1\/buckets\/([^/]+)$/.exec(pathname)?.[1] ?? '')
    if (bucket === undefined) return problem(404, 'there is no such bucket')
    if (method === 'GET') return { status: 200, content: bucket }
    if (method === 'PATCH') return this.#change(bucket, content)
    if (method !== 'DELETE') return problem(405, 'the method is not allowed')
    this.buckets.delete(bucket.id)
    return { status: 204 }
  }

  #secondsOverLimit(): number {
    const { now, rateLimit } = this.#options
    const windowMs = rateLimit.windowSeconds * 1000
    if (now() - this.#window.startMs >= windowMs) this.#window = { startMs: now(), requests: 0 }
    this.#window.requests += 1
    if (this.#window.requests <= rateLimit.requests) return 0
    return Math.ceil((this.#window.startMs + windowMs - now()) / 1000)
  }

  /** A request with the key of an earlier one gets the stored answer. Errors are not stored. */
  #once(key: string | string[] | undefined, body: string, execute: () => Answer): Answer {
    if (typeof key !== 'string') return problem(400, 'the header Idempotency-Key is missing')
    const earlier = this.#answers.get(key)
    if (earlier !== undefined && earlier.body !== body) return problem(422, 'this key was used for another request')
    const answer = earlier?.answer ?? execute()
    if (answer.status < 300) this.#answers.set(key, { body, answer })
    return answer
  }

  #list(owner: string | null): Answer {
    const listedMs = this.#options.now() - this.listDelaySeconds * 1000
    const buckets = [...this.buckets.values()].filter(({ id }) => (this.#createdMs.get(id) ?? 0) <= listedMs)
    return { status: 200, content: owner === null ? buckets : buckets.filter((bucket) => bucket.owner === owner) }
  }

  #create(content: unknown): Answer {
    const { data, error } = newBucket.safeParse(content)
    if (error !== undefined) return invalid(error)
    this.#lastNumber += 1
    const id = `b-${this.#lastNumber}`
    const bucket = { ...data, id, url: `https://${id}.${data.region}.cloud.example.com` }
    this.buckets.set(id, bucket)
    this.#createdMs.set(id, this.#options.now())
    return { status: 201, content: bucket }
  }

  #change(bucket: StoredBucket, content: unknown): Answer {
    const { data, error } = changes.safeParse(content)
    if (error !== undefined) return invalid(error)
    const changed: StoredBucket = {
      ...bucket,
      versioning: data.versioning ?? bucket.versioning,
      quotaGb: data.quotaGb ?? bucket.quotaGb,
    }
    this.buckets.set(bucket.id, changed)
    return { status: 200, content: changed }
  }

  #answerFault(content: unknown): Answer {
    const { data, error } = fault.safeParse(content)
    if (error !== undefined) return invalid(error)
    this.#faults.push(data)
    return { status: 201, content: data }
  }
}

function problem(status: number, error: string): Answer {
  return { status, content: { error } }
}

function invalid(error: z.ZodError): Answer {
  return problem(422, error.issues.map(({ path, message }) => `${path.join('.')} ${message}`.trim()).join('; '))
}

function failWith({ status, retryAfterSeconds }: Pick<ActiveFault, 'status' | 'retryAfterSeconds'>): Answer {
  const headers: Answer['headers'] = retryAfterSeconds === undefined ? {} : { 'retry-after': `${retryAfterSeconds}` }
  return { ...problem(status, status === 429 ? 'too many requests' : 'this fault was ordered'), headers }
}

/** Undefined for text that is not JSON. An empty body is an empty object. */
function parseJson(body: string): unknown {
  try {
    return JSON.parse(body === '' ? '{}' : body)
  } catch {
    return undefined
  }
}
