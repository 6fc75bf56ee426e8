/** The client of the cloud's HTTP API. It knows nothing of Kubernetes. */
import { z } from 'zod'

const cloudBucket = z.object({
  id: z.string(),
  owner: z.string(),
  name: z.string(),
  region: z.string(),
  versioning: z.boolean(),
  quotaGb: z.int(),
  url: z.string(),
})
/** A bucket as the cloud shows it. Unknown fields are dropped. */
export type CloudBucket = z.infer<typeof cloudBucket>
/** The fields that can be changed later. */
export type BucketSettings = Pick<CloudBucket, 'versioning' | 'quotaGb'>
/** Only fields that never change: each attempt to create the bucket of an object sends the same body, and so can have the same key. */
export type NewBucket = Pick<CloudBucket, 'owner' | 'name' | 'region'>

const cloudProblem = z.object({ error: z.string() })

/** The cloud refused a request, or did not answer it. */
export class CloudError extends Error {
  /** The HTTP status. 0 if there was no answer: then the cloud may or may not have done what was asked. */
  readonly status: number
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, status: number, { retryAfterSeconds, cause }: CloudErrorDetails = {}) {
    super(message, { cause })
    this.name = 'CloudError'
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

interface CloudErrorDetails {
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}

export interface CloudOptions {
  readonly url: string
  readonly token: string
  /** The time limit of each request. */
  readonly timeoutMs?: number
  /** The clock for Retry-After: tests pass the clock of their cluster. */
  readonly now?: () => number
}

interface CallOptions {
  readonly body?: object
  readonly idempotencyKey?: string
  /** Aborted when the operator stops. */
  readonly signal: AbortSignal
}

interface Received {
  readonly response: Response
  /** The body. The time limit holds for it, too. */
  readonly text: string
}

/** A cloud that asks for a longer pause, perhaps by mistake, is asked again after this time. */
const maxRetryAfterSeconds = 3600

export class CloudClient {
  readonly #options: Required<CloudOptions>
  /** Until then the cloud wants no requests, of any object. */
  #pausedUntilMs = 0

  constructor(options: CloudOptions) {
    this.#options = { timeoutMs: 10_000, now: Date.now, ...options }
    // `fetch` would refuse such a header, and quote the token in its error.
    if (!/^[\x21-\x7e]+$/.test(options.token))
      throw new Error('The token of the cloud has spaces, line breaks or other characters that a header cannot have')
    if (!URL.canParse(options.url)) throw new Error(`The address of the cloud is not a URL: "${options.url}"`)
  }

  /** The buckets of one owner, oldest first. */
  async listBuckets(owner: string, signal: AbortSignal): Promise<CloudBucket[]> {
    const content = await this.#call('GET', `buckets?owner=${encodeURIComponent(owner)}`, { signal })
    return parseAnswer(z.array(cloudBucket), content)
  }

  /** The bucket, or undefined if it does not exist. Unlike a list, this is never late. */
  async getBucket(id: string, signal: AbortSignal): Promise<CloudBucket | undefined> {
    const content = await orNotFound(this.#call('GET', `buckets/${encodeURIComponent(id)}`, { signal }))
    return content === undefined ? undefined : parseAnswer(cloudBucket, content)
  }

  /** With the key of an earlier call, the cloud answers with the bucket of that call and creates none. */
  async createBucket(bucket: NewBucket, idempotencyKey: string, signal: AbortSignal): Promise<CloudBucket> {
    return parseAnswer(cloudBucket, await this.#call('POST', 'buckets', { body: bucket, idempotencyKey, signal }))
  }

  async updateBucket(id: string, settings: BucketSettings, signal: AbortSignal): Promise<CloudBucket> {
    const path = `buckets/${encodeURIComponent(id)}`
    return parseAnswer(cloudBucket, await this.#call('PATCH', path, { body: settings, signal }))
  }

  /** A bucket that does not exist counts as deleted. */
  async deleteBucket(id: string, signal: AbortSignal): Promise<void> {
    await orNotFound(this.#call('DELETE', `buckets/${encodeURIComponent(id)}`, { signal }))
  }

  async #call(method: string, path: string, options: CallOptions): Promise<unknown> {
    this.#checkPause()
    const { response, text } = await this.#send(method, path, options)
    const content = parseJson(text)
    if (response.ok) return content
    const { data } = cloudProblem.safeParse(content)
    const retryAfterSeconds = this.#readRetryAfter(response)
    const message = `${method} /v1/${path.split('?')[0]}: ${response.status} ${data?.error ?? response.statusText}`
    throw new CloudError(message, response.status, { retryAfterSeconds })
  }

  async #send(method: string, path: string, { body, idempotencyKey, signal }: CallOptions): Promise<Received> {
    const { url, token, timeoutMs } = this.#options
    const headers = new Headers({ authorization: `Bearer ${token}` })
    if (body !== undefined) headers.set('content-type', 'application/json')
    if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey)
    try {
      const response = await fetch(new URL(`/v1/${path}`, url), {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      })
      return { response, text: await response.text() }
    } catch (error) {
      // The operator stops: the framework must see its own AbortError, so that the attempt does not count as failed.
      signal.throwIfAborted()
      const isTimeout = error instanceof Error && error.name === 'TimeoutError'
      const what = isTimeout ? `no answer within ${timeoutMs} ms` : 'the connection failed'
      throw new CloudError(`${method} /v1/${path.split('?')[0]}: ${what}`, 0, { cause: error })
    }
  }

  /** One 429 holds for all objects: other calls would only prolong it. */
  #checkPause(): void {
    const retryAfterSeconds = Math.ceil((this.#pausedUntilMs - this.#options.now()) / 1000)
    if (retryAfterSeconds <= 0) return
    throw new CloudError('not called: the cloud asked for a pause', 429, { retryAfterSeconds })
  }

  /** Retry-After is a number of seconds or a date. */
  #readRetryAfter(response: Response): number | undefined {
    const text = response.headers.get('retry-after')
    if (text === null) return undefined
    const nowMs = this.#options.now()
    const requested = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - nowMs) / 1000)
    if (Number.isNaN(requested) || requested < 0) return undefined
    const seconds = Math.min(Math.max(requested, 1), maxRetryAfterSeconds)
    if (response.status === 429) this.#pausedUntilMs = nowMs + seconds * 1000
    return seconds
  }
}

/** The answer, or undefined for 404. */
async function orNotFound(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof CloudError && error.status === 404) return undefined
    throw error
  }
}

/** Another answer than expected, such as the page of a proxy, is a problem of the cloud. */
function parseAnswer<T>(schema: z.ZodType<T>, content: unknown): T {
  const { data, error } = schema.safeParse(content)
  if (error !== undefined)
    throw new CloudError('The answer of the cloud does not have the expected fields', 0, { cause: error })
  return data
}

/** Undefined for text that is not JSON, such as the error page of a proxy. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The address and the token come from the environment: in a cluster, from a Secret. */
export function createClientFromEnvironment(env: NodeJS.ProcessEnv = process.env): CloudClient {
  const { CLOUD_URL: url, CLOUD_TOKEN: token } = env
  if (!url || !token) throw new Error('Cannot call the cloud: set the environment variables CLOUD_URL and CLOUD_TOKEN')
  // A file that a Secret is made from often ends with a line break.
  return new CloudClient({ url, token: token.trim() })
}
