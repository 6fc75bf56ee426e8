/**
 * A program with an operator that reads all its objects in handlers of all types. test/handlers/memory-limit.slow.test.ts runs it with
 * the heap size that `kopf manifests` prints. Its environment has the path of the package and the connection; it runs until SIGTERM.
 */
const { module, group, namespaces, connection } = JSON.parse(process.env.HOSTILE_OPERATOR)
const { ConnectionInfo, Operator } = await import(module)
const widgets = [group, 'v1', 'widgets']
const print =
  (what) =>
  ({ name, spec }) => {
    process.stdout.write(`handled ${what} ${name} ${Object.keys(spec)}\n`)
  }

const kopf = new Operator()
kopf.on.event(widgets, print('event'))
kopf.on.create(widgets, print('create'))
kopf.on.update(widgets, ({ diff, ...args }) => print(`update ${diff.length > 0}`)(args))
kopf.on.resume(widgets, print('resume'))
kopf.timer(widgets, { interval: 60 }, print('timer'))
kopf.index(widgets, { id: 'sizes' }, ({ name, spec }) => [[name, Object.keys(spec).length]])

const running = await kopf.start({ namespaces, connection: new ConnectionInfo(connection) })
await running.ready
process.stdout.write('ready\n')
process.once('SIGTERM', () => void running.stop())
