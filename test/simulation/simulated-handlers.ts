/**
 * The simulated operator: handlers of all types of change, some slow, some failing, one with sub-handlers. Each
 * stores its arguments in the status and reports to the journal. Its behaviour depends on the seed, the object and its content.
 */
import { Operator, PermanentError, TemporaryError } from 'kopf'
import type { Clock } from '../../src/util/async/clock.ts'
import { forever } from './process-clock.ts'
import { fate } from './random.ts'
import type { Call, Journal } from './simulation-journal.ts'

export interface HandlersOptions {
  readonly seed: string
  readonly journal: Journal
  readonly clock: Clock
  readonly process: number
  /** True after the process was killed: its remaining work has no effect. */
  readonly isDead: () => boolean
  readonly widgets: readonly [string, string, string]
  readonly namespace: string
  /** Whether there is an event handler. */
  readonly hasEventHandlers: boolean
  /** Whether handlers take time and fail. */
  readonly isRough: boolean
  /** Whether there are change handlers and a deletion handler. */
  readonly hasChanges: boolean
  readonly hasCleanup: boolean
  /** Whether requests have a short timeout. */
  readonly isImpatient: boolean
  /** Whether objects are listed in pages. */
  readonly isPaged: boolean
}

export const finalizer = 'kopf.zalando.org/KopfFinalizerMarker'

/** The fields of the essence. */
interface Essential {
  readonly spec: Readonly<Record<string, unknown>>
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** The arguments of handlers that the simulation uses. */
interface Args {
  readonly uid: string
  readonly name: string
  readonly namespace: string | undefined
  readonly reason: string
  readonly retry: number
  readonly old: unknown
  readonly new: unknown
  readonly spec: Readonly<Record<string, unknown>>
  readonly labels: Readonly<Record<string, string>>
  readonly meta: { readonly resourceVersion?: string; readonly finalizers?: readonly string[] }
  readonly memo: Record<string, unknown>
  // biome-ignore lint/suspicious/noExplicitAny: of objects that may have anything in their status.
  readonly patch: { status: any }
  readonly subhandler: (id: string, fn: (args: never) => unknown) => void
}

export function createOperator(options: HandlersOptions): Operator {
  const networking = options.isImpatient ? { errorBackoffs: [0.3, 0.6] } : {}
  const watching = options.isPaged ? { initialStreaming: false, chunkSize: 2 } : {}
  const kopf = new Operator({
    settings: { posting: { enabled: false }, networking, watching, queueing: { exitTimeout: 2 } },
  })
  const { hasEventHandlers, widgets, journal, process } = options
  if (hasEventHandlers) kopf.on.event(widgets, { id: 'spy' }, () => journal.called(process))
  if (options.hasChanges) addChangeHandlers(kopf, options)
  return kopf
}

function addChangeHandlers(kopf: Operator, options: HandlersOptions): void {
  const { widgets, process, hasCleanup } = options
  const { wrap } = new Recorder(options)
  const mirror = wrap('mirror', (args) => {
    args.patch.status.mirror = contentOf(args)
  })
  const slow = wrap('slow', async (args) => {
    await options.clock.sleep(delayOf(options, 'slow', args))
    args.patch.status.slow = contentOf(args)
  })
  const flaky = wrap('flaky', (args) => {
    if (args.retry < failuresOf(options, 'flaky', args)) throw new TemporaryError('not yet', { delay: 2 })
    args.patch.status.flaky = contentOf(args)
  })
  const golden = wrap('golden', (args) => {
    args.patch.status.golden = contentOf(args)
  })
  const parent = wrap('parent', (args) => {
    for (const item of itemsOf(args.spec)) {
      const child = wrap(`parent/${item}`, (inner) => {
        if (inner.retry < failuresOf(options, item, inner)) throw new TemporaryError('not yet', { delay: 1 })
        inner.patch.status.items = { [item]: inner.spec['size'] ?? null }
      })
      args.subhandler(item, child as never)
    }
  })
  for (const on of [kopf.on.create, kopf.on.update]) {
    on(widgets, { id: 'mirror' }, mirror as never)
    on(widgets, { id: 'flaky' }, flaky as never)
    on(widgets, { id: 'golden', labels: { tier: 'gold' } }, golden as never)
    on(widgets, { id: 'slow' }, slow as never)
    on(widgets, { id: 'parent' }, parent as never)
  }
  kopf.on.update(
    widgets,
    { id: 'doomed' },
    wrap('doomed', (args) => {
      if (options.isRough && args.spec['size'] === 3) throw new PermanentError('never')
    }) as never,
  )
  kopf.on.field(
    widgets,
    'spec.size',
    { id: 'sized' },
    wrap('sized', (args) => {
      args.patch.status.sized = args.new ?? null
    }) as never,
  )
  kopf.on.resume(
    widgets,
    { id: 'back' },
    wrap('back', (args) => {
      args.patch.status.back = process
    }) as never,
  )
  if (!hasCleanup) return
  kopf.on.delete(
    widgets,
    { id: 'cleanup' },
    wrap('cleanup', async (args) => {
      await options.clock.sleep(delayOf(options, 'cleanup', args))
      if (args.retry < failuresOf(options, 'cleanup', args)) throw new TemporaryError('not yet', { delay: 1 })
    }) as never,
  )
}

/** The content that handlers store, for a comparison with the object at the end. */
export function contentOf({ spec, labels }: Pick<Args, 'spec' | 'labels'>): object {
  return { size: spec['size'] ?? 'none', note: spec['note'] ?? 'none', tier: labels['tier'] ?? 'none' }
}

export function itemsOf(spec: Readonly<Record<string, unknown>>): readonly string[] {
  return Array.isArray(spec['items']) ? spec['items'].map(String) : []
}

function delayOf({ seed, isRough }: HandlersOptions, id: string, { uid: _, name, spec, retry }: Args): number {
  const luck = fate(seed, 'delay', id, name, spec['size'], retry)
  return isRough && luck > 0.4 ? luck * luck * 6000 : 0
}

function failuresOf({ seed, isRough }: HandlersOptions, id: string, { name, spec }: Args): number {
  return isRough ? Math.floor(fate(seed, 'failures', id, name, spec['size']) * 3) : 0
}

/** Checks the invariants at the start of each call, and reports its end to the journal. */
class Recorder {
  readonly #options: HandlersOptions
  /** Running calls of handlers (without sub-handlers), by uid. */
  readonly #busy = new Map<string, string>()

  constructor(options: HandlersOptions) {
    this.#options = options
  }

  readonly wrap = (id: string, fn: (args: Args) => unknown) => {
    return async (args: Args): Promise<void> => {
      if (this.#options.isDead()) return forever()
      const call = this.#begin(id, args)
      const isTop = !id.includes('/')
      if (isTop) this.#busy.set(args.uid, id)
      try {
        await fn(args)
        this.#finish(call, isTop, 'done')
      } catch (error) {
        this.#finish(call, isTop, error instanceof TemporaryError ? 'retry' : 'failed')
        throw error
      }
    }
  }

  #begin(id: string, args: Args): Call {
    const { journal, process, namespace, hasCleanup } = this.#options
    const { uid, name, meta, reason, retry, memo } = args
    const running = this.#busy.get(uid)
    if (running !== undefined && !id.includes('/')) {
      journal.violate('P1', `"${id}" of ${name} is called while "${running}" is running`)
    }
    if (args.namespace !== namespace) journal.violate('P7', `"${id}" is called for namespace ${args.namespace}`)
    memo['uid'] ??= uid
    if (memo['uid'] !== uid) journal.violate('P7', `"${id}" of ${name} has the memo of another object`)
    if (hasCleanup && !(meta.finalizers ?? []).includes(finalizer)) {
      journal.violate('P5', `"${id}" of ${name} is called for ${reason} without the finalizer`)
    }
    const version = Number(meta.resourceVersion)
    journal.called(process)
    journal.tell(
      `-> ${id} ${name} ${uid.slice(0, 4)} v${version} ${reason} #${retry} ${text(args.old)} -> ${text(args.new)}`,
    )
    const facts = { id, uid, name, process, reason, version, retry, old: text(args.old), new: text(args.new) }
    return journal.begin(facts)
  }

  #finish(call: Call, isTop: boolean, end: Call['end']): void {
    if (isTop) this.#busy.delete(call.uid)
    this.#options.journal.tell(`<- ${call.id} ${call.name} ${end}`)
    // A parent finishes only after its sub-handlers, so the framework calls it again.
    this.#options.journal.finish(call, end === 'done' && call.id === 'parent' ? 'failed' : end)
  }
}

/** The essence of an object as text. */
export function essenceOf({ spec, labels, annotations }: Essential): string {
  const metadata = {
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
  }
  return text({ spec, ...(Object.keys(metadata).length > 0 ? { metadata } : {}) })
}

/** JSON with sorted keys, so that equal values have equal texts. */
export function text(value: unknown): string {
  return (
    JSON.stringify(value, (_, part) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    ) ?? 'undefined'
  )
}
