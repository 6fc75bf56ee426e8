/** Compiled, never run: arguments and options of daemons and timers, and their type errors. */
import { type Args, type DaemonStoppingReason, defineResource, Operator, PRESENT } from 'kopf'
import { z } from 'zod'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}

const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({ size: z.number(), users: z.array(z.string()) }),
  status: z.object({ phase: z.string() }),
})
const kopf = new Operator({ memo: () => ({ pings: 0 }) })

// Both get the arguments of all handlers of an object, the attempt, and the stopper.
kopf.daemon(Database, async ({ spec, status, memo, stopped, signal, retry, started, runtime, patch, name }) => {
  holds<Same<typeof spec.users, readonly string[]>>()
  holds<Same<typeof memo, { pings: number }>>()
  holds<Same<typeof stopped.reason, DaemonStoppingReason | undefined>>()
  while (!stopped.isSet()) {
    memo.pings += spec.size + retry + runtime + started.getTime()
    patch.status.phase = `${status.phase} ${name}`
    const isSet: boolean = await stopped.wait('10s')
    if (isSet || signal.aborted || stopped.signal.aborted) return { pings: memo.pings }
  }
  return undefined
})

kopf.timer(Database, { interval: '1m', idle: 10, sharp: true, initialDelay: 5 }, ({ spec, memo, stopped, retry }) => {
  holds<Same<typeof memo, { pings: number }>>()
  return { size: spec.size + retry, isSet: stopped.isSet() }
})
kopf.timer(Database, { interval: 5, when: ({ clock }) => clock.now() > 0 }, async ({ clock, signal }) => {
  const nowMs: number = clock.now()
  await clock.sleep('10s', { signal })
  // @ts-expect-error: no such unit
  await clock.sleep('10 fortnights')
  return { tookMs: clock.now() - nowMs }
})
kopf.timer('kopfexamples', { idle: 10 }, ({ spec }) => spec['anything'])
kopf.timer(Database, { interval: 1, idle: 0, errors: 'permanent', retries: 3, timeout: '1h', backoff: 1 }, () => {})
kopf.timer(Database, { interval: '30d', idle: '1d' }, () => {})
kopf.timer(
  Database,
  {
    interval: 10,
    finalizer: false,
    labels: { app: PRESENT, tier: (tier) => tier?.startsWith('x') ?? false },
    initialDelay: ({ spec, memo }) => spec.size + memo.pings,
    when: ({ spec, annotations }) => spec.size > 10 && !('paused' in annotations),
  },
  () => {},
)
kopf.daemon(
  Database,
  { cancellationBackoff: 1, cancellationTimeout: '5s', cancellationPolling: '1m', initialDelay: '1s' },
  async ({ stopped }) => {
    await stopped.wait()
  },
)

function tick({ name, stopped }: Args<'timer', typeof Database>): string {
  return `${name} ${stopped.isSet()}`
}
kopf.timer(Database, { id: 'tick', interval: 1 }, tick)
function watch({ body, stopped }: Args<'daemon', typeof Database>): Promise<boolean> {
  return stopped.wait(body.spec.size)
}
kopf.daemon(Database, { id: 'watch' }, watch)

// Each mistake is an error in its own line.

// @ts-expect-error: a timer needs an interval or idle
kopf.timer(Database, () => {})

// @ts-expect-error: neither an interval nor idling
kopf.timer(Database, { initialDelay: 5 }, () => {})

// @ts-expect-error: sharp needs an interval
kopf.timer(Database, { idle: 5, sharp: true }, () => {})

// @ts-expect-error: not a duration
kopf.timer(Database, { interval: '10 seconds' }, () => {})

// @ts-expect-error: no such option
kopf.timer(Database, { intervall: 5 }, () => {})

// @ts-expect-error: timers are not cancelled
kopf.timer(Database, { interval: 5, cancellationTimeout: 5 }, () => {})

// @ts-expect-error: daemons have no interval
kopf.daemon(Database, { interval: 5 }, () => {})

// @ts-expect-error: daemons do not see changes
kopf.daemon(Database, ({ diff }) => diff)

// @ts-expect-error: nor do timers
kopf.timer(Database, { interval: 5 }, ({ old }) => old)

// @ts-expect-error: the spec is read-only
kopf.daemon(Database, ({ spec }) => (spec.size = 5))

// @ts-expect-error: lists in the body are read-only
kopf.daemon(Database, ({ body }) => body.spec.users.push('x'))

// @ts-expect-error: labels are read-only
kopf.timer(Database, { interval: 5 }, ({ labels }) => (labels['a'] = 'b'))

// @ts-expect-error: only the framework can set the stopper
kopf.daemon(Database, ({ stopped }) => stopped.set('resource-deleted'))

// @ts-expect-error: there is no such reason
kopf.daemon(Database, ({ stopped }) => stopped.reason === 'deleted')

// @ts-expect-error: the memo has no such field
kopf.timer(Database, { interval: 5 }, ({ memo }) => memo.pongs)

// @ts-expect-error: the function for the initial delay has no retry argument
kopf.timer(Database, { interval: 5, initialDelay: ({ retry }) => retry }, () => {})

// @ts-expect-error: the function for the initial delay is not async
kopf.timer(Database, { interval: 5, initialDelay: async () => 5 }, () => {})
