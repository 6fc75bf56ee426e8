/** Compiled, never run: functions in worker threads are accepted as handlers, and type-checked like them. */
import { inWorker, Operator } from 'kopf'
import { Database } from './worker-functions.ts'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}

const kopf = new Operator({ memo: () => ({ pings: 0 }) })
const url = new URL('./worker-functions.ts', import.meta.url)

// Without type arguments.
kopf.on.create(Database, inWorker(url))
kopf.on.create('widgets', { id: 'a', retries: 3 }, inWorker(url, { name: 'create' }))
kopf.on.update(['example.com', 'v1', 'widgets'], inWorker(String(url)))
kopf.on.delete(Database, inWorker(url))
kopf.on.resume(Database, inWorker(url))
kopf.on.field(Database, 'spec.size', inWorker(url))
kopf.on.field(Database, 'spec.size', { id: 'b' }, inWorker(url))
kopf.on.event(Database, inWorker(url))
kopf.daemon(Database, inWorker(url))
kopf.timer(Database, { interval: 60 }, inWorker(url))
kopf.index(Database, inWorker(url))
kopf.on.startup(inWorker(url))
kopf.on.cleanup({ id: 'c' }, inWorker(url))
kopf.on.probe({ id: 'd' }, inWorker(url))
kopf.on.create(Database, { id: 'e' }, ({ subhandler }) => subhandler('f', inWorker(url)))

// With the types of the module.
kopf.on.create(Database, inWorker<typeof import('./worker-functions.ts').create>(url, { name: 'create' }))
kopf.daemon(Database, inWorker<typeof import('./worker-functions.ts').watch>(url, { name: 'watch' }))
kopf.timer(
  Database,
  { interval: 60 },
  inWorker<typeof import('./worker-functions.ts').remember>(url, { name: 'remember' }),
)
kopf.on.startup(inWorker<typeof import('./worker-functions.ts').prepare>(url, { name: 'prepare' }))

const create = inWorker<typeof import('./worker-functions.ts').create>(url, { name: 'create' })
holds<Same<Awaited<ReturnType<typeof create>>, object>>()
kopf.on.create(Database, { id: 'g' }, async (args) => ({ made: await create(args) }))

// @ts-expect-error: it is for databases
kopf.on.create('widgets', { id: 'h' }, inWorker<typeof import('./worker-functions.ts').create>(url, { name: 'create' }))

// @ts-expect-error: a creation handler has no `stopped`
kopf.on.create(Database, { id: 'i' }, inWorker<typeof import('./worker-functions.ts').watch>(url, { name: 'watch' }))

// @ts-expect-error: login handlers cannot run in a thread
kopf.on.login(inWorker(url))

// @ts-expect-error: there is no such option
inWorker(url, { export: 'create' })

// @ts-expect-error: neither a URL nor text
inWorker(url.pathname.length)
