/** Decides whether an operator is ready, with one check per part: streams, credentials, queue, event loop, webhooks, election. Pure. */

interface StreamFacts {
  /** The resource and the namespace of the stream. The page is public, so there are no names of objects. */
  readonly scope: string
  /** When the stream stopped watching; undefined while it watches. */
  readonly downSinceMs: number | undefined
  /** The operator pauses for a peer in this namespace: the stream is closed on purpose. */
  readonly isPaused?: boolean
}

export interface ReadinessFacts {
  readonly nowMs: number
  /** `starting` until all existing objects have been seen once. */
  readonly phase: 'starting' | 'running' | 'stopping'
  /** The operator pauses for a peer. A paused operator counts as ready. */
  readonly isPaused: boolean
  readonly streams: readonly StreamFacts[]
  /** `starting` until the server listens and its address is in the webhook configurations; undefined without webhooks. */
  readonly webhooks: 'starting' | 'serving' | undefined
  /** Undefined without leader election; `awaited` until the leader is known. */
  readonly election: 'awaited' | 'standing-by' | 'leading' | 'lost' | undefined
  /** `refused` if the last response of the API server was 401. */
  readonly credentials: 'awaited' | 'accepted' | 'refused'
  readonly queue: {
    /** The number of objects that wait for a worker or have one. */
    readonly objects: number
    /** The number of objects that wait for a worker. */
    readonly waiting: number
    /** When the first waiting object was queued. */
    readonly waitingSinceMs: number | undefined
    /** When the first waiting object was queued whose namespace has no worker at all: other namespaces use all workers. */
    readonly starvedSinceMs: number | undefined
  }
  /** The longest recent delay of the event loop. */
  readonly lagMs: number
}

interface ReadinessCheck {
  readonly ok: boolean
  readonly [detail: string]: unknown
}

export interface Readiness {
  readonly ready: boolean
  readonly checks: Readonly<Record<'streams' | 'credentials' | 'queue' | 'loop', ReadinessCheck>> & {
    /** Only for operators with webhooks. */
    readonly webhooks?: ReadinessCheck
    /** Only with leader election. */
    readonly election?: ReadinessCheck
  }
}

/** Shorter outages are normal and end without help. */
const maxDownMs = 60_000
const maxWaitMs = 60_000
const maxLagMs = 1000

export function decideReadiness(facts: ReadinessFacts): Readiness {
  const { credentials, webhooks, election } = facts
  const checks = {
    streams: checkStreams(facts),
    credentials: { ok: credentials === 'accepted', state: credentials },
    queue: checkQueue(facts),
    loop: { ok: facts.lagMs <= maxLagMs, lagSeconds: toSeconds(facts.lagMs) },
    ...(webhooks && { webhooks: { ok: webhooks === 'serving', state: webhooks } }),
    ...(election && { election: { ok: election === 'leading' || election === 'standing-by', state: election } }),
  }
  return { ready: Object.values(checks).every(({ ok }) => ok), checks }
}

function checkStreams({ phase, isPaused, streams, nowMs }: ReadinessFacts): ReadinessCheck {
  const down = streams
    .filter(({ downSinceMs, isPaused: isStreamPaused }) => downSinceMs !== undefined && !isStreamPaused)
    .map(({ scope, downSinceMs }) => ({ scope, downMs: nowMs - downSinceMs! }))
  const paused = streams.filter(({ isPaused: isStreamPaused }) => isStreamPaused).length
  const isDown = down.some(({ downMs }) => downMs >= maxDownMs)
  const state = phase !== 'running' ? phase : isPaused ? 'paused' : isDown ? 'down' : 'watching'
  return {
    ok: state === 'watching' || state === 'paused',
    state,
    total: streams.length,
    watching: isPaused ? 0 : streams.length - down.length - paused,
    ...(!isPaused && paused > 0 && { paused }),
    down: (isPaused ? [] : down).map(({ scope, downMs }) => ({ scope, downSeconds: toSeconds(downMs) })),
  }
}

/**
 * Objects that wait for slow handlers of their own namespace do not make the operator unready: otherwise one tenant could remove it from
 * its Service, and all requests would fail that its webhooks review. On a replica that is not the leader, all objects wait.
 */
function checkQueue({ queue, election, nowMs }: ReadinessFacts): ReadinessCheck {
  const { objects, waiting, waitingSinceMs, starvedSinceMs } = queue
  const sinceMs = (ms: number | undefined) => (election === 'standing-by' || ms === undefined ? 0 : nowMs - ms)
  const ok = sinceMs(starvedSinceMs) <= maxWaitMs
  return { ok, objects, waiting, longestWaitSeconds: toSeconds(sinceMs(waitingSinceMs)) }
}

/** Rounded to tenths of a second. */
function toSeconds(ms: number): number {
  return Math.round(ms / 100) / 10
}
