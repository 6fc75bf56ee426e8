/** Whether an operator does what it is there for: from what is known of its parts, a verdict on each. Pure. */

interface StreamFacts {
  /** What it brings, and from where: never an object. */
  readonly scope: string
  /** Since when it has not been watching; undefined while it is. */
  readonly downSinceMs: number | undefined
  /** The operator stands back for another one in its namespace: it is not missed then. */
  readonly isPaused?: boolean
}

export interface Facts {
  readonly nowMs: number
  /** `starting` until everything that is there has been seen once. */
  readonly phase: 'starting' | 'running' | 'stopping'
  /** It stands back for another operator: it is as ready as it can be then. */
  readonly isPaused: boolean
  readonly streams: readonly StreamFacts[]
  /** `starting` until the server listens and the cluster knows where; undefined where there are no webhooks. */
  readonly webhooks: 'starting' | 'serving' | undefined
  /** Undefined where there is none; `awaited` until it is known who leads. */
  readonly election: 'awaited' | 'standing-by' | 'leading' | 'lost' | undefined
  /** `refused` where the last answer of the API server was that it does not know us. */
  readonly credentials: 'awaited' | 'accepted' | 'refused'
  readonly queue: {
    /** Objects that wait or are worked on. */
    readonly objects: number
    /** Those of them that nobody works on yet. */
    readonly waiting: number
    /** Since when the first of those has waited. */
    readonly waitingSinceMs: number | undefined
    /** Since when one of those has waited whose namespace has no worker at all: it waits for other namespaces. */
    readonly starvedSinceMs: number | undefined
  }
  /** The longest delay of the event loop of late. */
  readonly lagMs: number
}

interface Verdict {
  readonly ok: boolean
  readonly [detail: string]: unknown
}

export interface Readiness {
  readonly ready: boolean
  readonly checks: Readonly<Record<'streams' | 'credentials' | 'queue' | 'loop', Verdict>> & {
    /** Only where there are some. */
    readonly webhooks?: Verdict
    /** Only where there is one. */
    readonly election?: Verdict
  }
}

/** What takes longer does not pass by itself. */
const longestDownMs = 60_000
const longestWaitMs = 60_000
const longestLagMs = 1000

export function judgeReadiness(facts: Facts): Readiness {
  const { credentials, webhooks, election } = facts
  const checks = {
    streams: judgeStreams(facts),
    credentials: { ok: credentials === 'accepted', state: credentials },
    queue: judgeQueue(facts),
    loop: { ok: facts.lagMs <= longestLagMs, lagSeconds: toSeconds(facts.lagMs) },
    ...(webhooks && { webhooks: { ok: webhooks === 'serving', state: webhooks } }),
    ...(election && { election: { ok: election === 'leading' || election === 'standing-by', state: election } }),
  }
  return { ready: Object.values(checks).every(({ ok }) => ok), checks }
}

function judgeStreams({ phase, isPaused, streams, nowMs }: Facts): Verdict {
  const down = streams
    .filter(({ downSinceMs, isPaused: isLeft }) => downSinceMs !== undefined && !isLeft)
    .map(({ scope, downSinceMs }) => ({ scope, downMs: nowMs - downSinceMs! }))
  const paused = streams.filter(({ isPaused: isLeft }) => isLeft).length
  const isDown = down.some(({ downMs }) => downMs >= longestDownMs)
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
 * Objects that wait behind slow handlers of their own namespace do not make the operator unready: otherwise one tenant could take it out
 * of its Service, and have all requests refused that its webhooks review. On a replica that does not lead, everything waits.
 */
function judgeQueue({ queue, election, nowMs }: Facts): Verdict {
  const { objects, waiting, waitingSinceMs, starvedSinceMs } = queue
  const sinceMs = (ms: number | undefined) => (election === 'standing-by' || ms === undefined ? 0 : nowMs - ms)
  const ok = sinceMs(starvedSinceMs) <= longestWaitMs
  return { ok, objects, waiting, longestWaitSeconds: toSeconds(sinceMs(waitingSinceMs)) }
}

/** Tenths are enough for people. */
function toSeconds(ms: number): number {
  return Math.round(ms / 100) / 10
}
